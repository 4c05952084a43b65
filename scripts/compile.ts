// How the binary is built, shared by the build command, the smoke checks and the test runner.
import { renameSync, rmSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BunPlugin } from 'bun'
import project from '../package.json' with { type: 'json' }

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Default output file. */
export const BINARY = `${ROOT}dist/gatewayctl`

/** What runs on threads of its own; each is found in the binary under its path (`db/sqlite/engine/log-checkpoint.ts`). */
const THREADS = [`${ROOT}db/sqlite/engine/log-checkpoint-thread.ts`]

/** How many times later than usual code is compiled by the JIT: a short command ends before that would repay itself. */
const JIT_POLICY = 20

type CompileOptions = {
  readonly entry?: string
  readonly outfile?: string
  /** As Bun names it, without the `bun-` in front: `linux-arm64`, `linux-x64-musl`. */
  readonly target?: string
  /** The Bun to build upon; unless told, that of the target among the installed packages. */
  readonly runtime?: string
}

/** Compiles one entry (the product's, unless told) and says how large it became and how long it took. */
export async function compile({ entry, outfile, target, runtime }: CompileOptions = {}) {
  const startedMs = performance.now()
  const destination = outfile ?? (target ? `${BINARY}-${target}` : BINARY)
  // Bun writes the name of its output into it: a constant one, or no two builds would be the same.
  const buildDirectory = `${destination}.${process.pid}`
  const draft = `${buildDirectory}/gatewayctl`
  const { metafile } = await Bun.build({
    entrypoints: entry === undefined ? [`${ROOT}cli/main.ts`, ...THREADS] : [entry],
    ...(entry === undefined && { root: ROOT }),
    // A compiled binary obeys a .env and runs a bunfig.toml preload of the directory it is started
    // in, unless told otherwise. Operators start this one anywhere, so it must not.
    compile: {
      outfile: draft,
      autoloadDotenv: false,
      autoloadBunfig: false,
      jitPolicy: JIT_POLICY,
      ...(target ? foreignRuntime(target, runtime) : {}),
    },
    bytecode: true,
    metafile: true,
    ...CHUNKS,
  })
  // Renamed into place, so that nobody ever starts half a file or overwrites one that is running.
  renameSync(draft, destination)
  rmSync(buildDirectory, { recursive: true, force: true })
  return {
    outfile: destination,
    bytes: statSync(destination).size,
    packages: packagesIn(Object.values(metafile?.outputs ?? {})),
    tookMs: Math.round(performance.now() - startedMs),
  }
}

/** The places of the packages that anything in the binary is of, as the lock file names them. */
function packagesIn(outputs: readonly { readonly inputs: object }[]): readonly string[] {
  const sources = outputs.flatMap(({ inputs }) => Object.keys(inputs))
  const places = sources.flatMap(
    (source) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(source)?.[0] ?? [],
  )
  return [...new Set(places.map((place) => place.slice(place.indexOf('node_modules/'))))].toSorted()
}

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
    instead: `import { readEcdsa } from ${JSON.stringify(`${ROOT}scripts/stand-ins/ecdsa-signature.ts`)}; const AsnParser = { parse: readEcdsa };`,
  },
  {
    importer: '/helpers/iso/isoCrypto/unwrapEC2Signature.js',
    statement: "import { ECDSASigValue } from '@peculiar/asn1-ecc';",
    instead: 'const ECDSASigValue = null;',
  },
]

/** In the text of the importer, because the bundler asks nobody about modules of the runtime. */
const standIns: BunPlugin = {
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

/** Large modules of CommonJS in whole words: each alone bears shorter identifiers. */
const IN_WHOLE_WORDS = [
  'react-reconciler/cjs/react-reconciler.production.js',
  ...[
    'protocols',
    'serde',
    'client',
    'retry',
    'endpoints',
    'event-streams',
    'config',
    'schema',
  ].map((name) => `@smithy/core/dist-cjs/submodules/${name}/index.js`),
  ...['protocols', 'client', 'httpAuthSchemes'].map(
    (name) => `@aws-sdk/core/dist-cjs/submodules/${name}/index.js`,
  ),
  ...['sts', 'sso', 'sso-oidc', 'signin'].map(
    (name) => `@aws-sdk/nested-clients/dist-cjs/submodules/${name}/index.js`,
  ),
  '@smithy/node-http-handler/dist-cjs/index.js',
  '@smithy/signature-v4/dist-cjs/index.js',
].map((file) => `${ROOT}node_modules/${file}`)

const shortWords: BunPlugin = {
  name: 'short-words',
  async setup(build) {
    const shortened = new Map<string, string>()
    for (const file of IN_WHOLE_WORDS) {
      // Before the build: one within it would wait for itself.
      const { outputs } = await Bun.build({
        entrypoints: [file],
        minify: true,
        format: 'cjs',
        target: 'bun',
        external: ['*'],
        plugins: [standIns],
      })
      const contents = /^\/\/ @bun @bun-cjs\n\(function\([\w, ]+\) \{(.*)\}\)\s*$/s.exec(
        (await outputs[0]?.text()) ?? '',
      )?.[1]
      if (contents === undefined) throw new Error(`${file} was not made a module of CommonJS`)
      shortened.set(file, contents)
    }
    const names = IN_WHOLE_WORDS.map((file) => RegExp.escape(file)).join('|')
    build.onLoad({ filter: new RegExp(`^(?:${names})$`) }, ({ path }) => ({
      contents: shortened.get(path) ?? '',
      loader: 'js',
    }))
  },
}

/** How sources become chunks, whether they end up in one file or lie side by side. */
const CHUNKS = {
  // Splitting makes a dynamic import truly lazy; bytecode needs esm for top-level await.
  splitting: true,
  format: 'esm',
  // Whitespace only: shorter identifiers or rewritten syntax silently break the sign-in library.
  minify: { whitespace: true },
  sourcemap: 'none',
  define: {
    // Bun would inline "development" here and ship React's development build.
    'process.env.NODE_ENV': '"production"',
    GATEWAY_VERSION: JSON.stringify(project.version),
  },
  plugins: [shortWords, standIns],
} satisfies Partial<Bun.BuildConfig>

/** The chunks of the binary as files, its entry `main.js`; answers which sources went into each, by its name. */
export async function chunksInto(
  directory: string,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const { metafile } = await Bun.build({
    entrypoints: [`${ROOT}cli/main.ts`],
    outdir: directory,
    target: 'bun',
    metafile: true,
    ...CHUNKS,
  })
  if (metafile === undefined) throw new Error('the build does not tell what is in its chunks')
  return new Map(
    Object.entries(metafile.outputs).map(([name, { inputs }]) => [
      basename(name),
      Object.keys(inputs),
    ]),
  )
}

/** The runtime of another platform comes from npm, never from a download during the build. */
function foreignRuntime(target: string, runtime?: string) {
  const platform = target.replace('arm64', 'aarch64')
  const executablePath = runtime ?? `${ROOT}node_modules/@oven/bun-${platform}/bin/bun`
  if (!statSync(executablePath, { throwIfNoEntry: false })) {
    const pinned = project.devDependencies.bun
    throw new Error(
      `no runtime for ${target}; first: npm install --no-save --force @oven/bun-${platform}@${pinned}`,
    )
  }
  return { target: `bun-${target}` as Bun.Build.CompileTarget, executablePath }
}
