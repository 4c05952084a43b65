/** What takes the place of imports that this program never uses: they would be a part of the binary, and some of every start. */
import type { BunPlugin } from 'bun'

/** Fails where a passkey brings certificates. */
function without(name = ''): string {
  return `const ${name} = () => { throw new Error('certificates are not asked for'); };`
}

/** Imports of libraries that this program never uses, or does not need to load. */
const STAND_INS: readonly {
  /** The end of the importer's path. */
  readonly importer: string
  readonly statement: string
  readonly instead: string
}[] = [
  // Its development mode would talk to a debugger.
  {
    importer: '/ink/build/devtools.js',
    statement: "import devtools from 'react-devtools-core';",
    instead: 'const devtools = { initialize() {}, connectToDevTools() {} };',
  },
  // It could start commands that are programs of their own; ours never are. To load this takes part of every start.
  {
    importer: '/commander/lib/command.js',
    statement: "import childProcess from 'node:child_process';",
    instead: 'const childProcess = {};',
  },
  // One function of it, which makes Bun load its inspector too.
  ...['/commander/lib/command.js', '/commander/lib/help.js'].map((importer) => ({
    importer,
    statement: "import { stripVTControlCharacters } from 'node:util';",
    instead: 'const stripVTControlCharacters = (text) => Bun.stripANSI(text);',
  })),
  // A wire of other services: what exchanges AWS credentials speaks XML and JSON.
  {
    importer: '/@aws-sdk/core/dist-cjs/submodules/protocols/index.js',
    statement:
      'const { SmithyRpcV2CborProtocol, loadSmithyRpcV2CborErrorCode } = require("@smithy/core/cbor");',
    instead:
      'class SmithyRpcV2CborProtocol {} const loadSmithyRpcV2CborErrorCode = () => undefined;',
  },
  // Answers that are streams of events: credentials are none.
  {
    importer: '/@smithy/core/dist-cjs/submodules/protocols/index.js',
    statement: `const { EventStreamSerde, eventStreamSerdeProvider } = require('@smithy/core/event-streams');`,
    instead: `throw new Error('streams of events are not asked for');`,
  },
  // Warnings of what is out of date in two libraries of the sign-in library, and what it says to who debugs it.
  ...['cookies', 'http-errors'].map((name) => ({
    importer: `/${name}/index.js`,
    statement: `var deprecate = require('depd')('${name}')`,
    instead: 'var deprecate = () => {}; deprecate.property = deprecate.function = () => {};',
  })),
  ...['authorization_error_handler', 'error_handler'].map((name) => ({
    importer: `/oidc-provider/lib/shared/${name}.js`,
    statement: "import debug from 'debug';",
    instead: 'const debug = () => () => {};',
  })),
  // What a browser says of itself.
  {
    importer: '/@aws-sdk/core/dist-cjs/submodules/client/index.js',
    statement: "const module = require('bowser');",
    instead: 'const module = { parse: () => undefined };',
  },
  // Every type of file that there is, twice: the sign-in library answers with these.
  {
    importer: '/mime-types/index.js',
    statement: "var db = require('mime-db')",
    instead: `var db = ${JSON.stringify({
      'application/json': { source: 'iana', charset: 'UTF-8', extensions: ['json'] },
      'application/octet-stream': { source: 'iana', extensions: ['bin'] },
      'application/x-www-form-urlencoded': { source: 'iana' },
      'text/html': { source: 'iana', extensions: ['html'] },
      'text/plain': { source: 'iana', extensions: ['txt', 'text'] },
    })}`,
  },
  // And once more, for what is attached to a mail: ours have nothing attached.
  ...['mime-funcs/index.js', 'mailer/index.js'].map((file) => ({
    importer: `/nodemailer/dist/esm/${file}`,
    statement: file.startsWith('mailer')
      ? "import * as mimeTypes from '../mime-funcs/mime-types.js';"
      : "import * as mimeTypes from './mime-types.js';",
    instead: `const mimeTypes = { detectMimeType: () => 'application/octet-stream', detectExtension: () => 'bin' };`,
  })),
  // Ways to send a mail other than by SMTP, each on a connection of its own.
  ...[
    ['SMTPPool', 'smtp-pool'],
    ['SendmailTransport', 'sendmail-transport'],
    ['StreamTransport', 'stream-transport'],
    ['JSONTransport', 'json-transport'],
    ['SESTransport', 'ses-transport'],
  ].map(([name, folder]) => ({
    importer: '/nodemailer/dist/esm/nodemailer.js',
    statement: `import ${name} from './${folder}/index.js';`,
    instead: `const ${name} = null;`,
  })),
  // Addresses of mail services by their names: ours is named by its address.
  {
    importer: '/nodemailer/dist/esm/smtp-transport/index.js',
    statement: "import wellKnown from '../well-known/index.js';",
    instead: 'const wellKnown = () => false;',
  },
  // Other ways to prove who sends a mail, and to reach the server, than ours.
  {
    importer: '/nodemailer/dist/esm/smtp-transport/index.js',
    statement: "import XOAuth2 from '../xoauth2/index.js';",
    instead: 'const XOAuth2 = null;',
  },
  {
    importer: '/nodemailer/dist/esm/mailer/index.js',
    statement: "import DKIM from '../dkim/index.js';",
    instead: 'const DKIM = null;',
  },
  {
    importer: '/nodemailer/dist/esm/mailer/index.js',
    statement: "import httpProxyClient from '../smtp-connection/http-proxy-client.js';",
    instead: 'const httpProxyClient = null;',
  },
  // Certificates of the makers of passkeys, which are not asked for: a passkey that brings some is refused.
  ...[
    ['FIDOU2F', 'verifyAttestationFIDOU2F'],
    ['AndroidSafetyNet', 'verifyAttestationAndroidSafetyNet'],
    ['TPM', 'tpm/verifyAttestationTPM'],
    ['AndroidKey', 'verifyAttestationAndroidKey'],
    ['Apple', 'verifyAttestationApple'],
  ].map(([name, file]) => ({
    importer: '/@simplewebauthn/server/esm/registration/verifyRegistrationResponse.js',
    statement: `import { verifyAttestation${name} } from './verifications/${file}.js';`,
    instead: `const verifyAttestation${name} = async () => false;`,
  })),
  ...[
    ['getCertificateInfo', 'helpers/getCertificateInfo'],
    ['convertCertBufferToPEM', 'helpers/convertCertBufferToPEM'],
    ['validateCertificatePath', 'helpers/validateCertificatePath'],
    ['validateExtFIDOGenCEAAGUID', 'helpers/validateExtFIDOGenCEAAGUID'],
    ['MetadataService', 'services/metadataService'],
    ['verifyAttestationWithMetadata', 'metadata/verifyAttestationWithMetadata'],
  ].map(([name, file]) => ({
    importer: '/registration/verifications/verifyAttestationPacked.js',
    statement: `import { ${name} } from '../../${file}.js';`,
    instead: without(name),
  })),
  {
    importer: '/@simplewebauthn/server/esm/helpers/verifySignature.js',
    statement: "import { convertX509PublicKeyToCOSE } from './convertX509PublicKeyToCOSE.js';",
    instead: without('convertX509PublicKeyToCOSE'),
  },
  {
    importer: '/@simplewebauthn/server/esm/index.js',
    statement: "export * from './services/metadataService.js';",
    instead: '',
  },
  {
    importer: '/@simplewebauthn/server/esm/services/settingsService.js',
    statement:
      "import { Google_Hardware_Attestation_Root_1, Google_Hardware_Attestation_Root_2, Google_Hardware_Attestation_Root_3, Google_Hardware_Attestation_Root_4, } from './defaultRootCerts/android-key.js';",
    instead:
      "const Google_Hardware_Attestation_Root_1 = '', Google_Hardware_Attestation_Root_2 = '', Google_Hardware_Attestation_Root_3 = '', Google_Hardware_Attestation_Root_4 = '';",
  },
  // By way of its index, one function would load all others.
  ...['verifyAKP', 'verifyOKP'].map((name) => ({
    importer: `/helpers/iso/isoCrypto/${name}.js`,
    statement: "import { isoBase64URL } from '../../index.js';",
    instead: "import { isoBase64URL } from '../index.js';",
  })),
  // All of ASN.1, for a signature of two integers.
  {
    importer: '/helpers/iso/isoCrypto/unwrapEC2Signature.js',
    statement: "import { AsnParser } from '@peculiar/asn1-schema';",
    instead: `import { readEcdsa } from ${JSON.stringify(`${import.meta.dir}/ecdsa-signature.ts`)}; const AsnParser = { parse: readEcdsa };`,
  },
  {
    importer: '/helpers/iso/isoCrypto/unwrapEC2Signature.js',
    statement: "import { ECDSASigValue } from '@peculiar/asn1-ecc';",
    instead: 'const ECDSASigValue = null;',
  },
]

/** In the text of the importer, because the bundler asks nobody about modules of the runtime. */
export const standIns: BunPlugin = {
  name: 'stand-ins',
  setup(build) {
    const importers = STAND_INS.map(({ importer }) => RegExp.escape(importer)).join('|')
    build.onLoad({ filter: new RegExp(`(?:${importers})$`) }, async ({ path }) => {
      let contents = await Bun.file(path).text()
      for (const { importer, statement, instead } of STAND_INS) {
        if (!path.endsWith(importer)) continue
        if (!contents.includes(statement)) throw new Error(`${path} has no line ${statement}`)
        contents = contents.replace(statement, instead)
      }
      return { contents, loader: 'js' }
    })
  },
}
