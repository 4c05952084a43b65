/** What each page takes for granted, and the few lines of it that cannot be typed in a test, with the reason. */
import type { Plan } from './shell.ts'

const BUILDS = 'it builds the very program that is being tested'

/** A gateway with money in it, and the keys that the pages speak of. */
const FURNISHED = `
gatewayctl init --no-input
gatewayctl balance top-up 50
gatewayctl serve > serve.log 2>&1 &
ready
`

const ASK = `ask() { command curl -s "http://$GATEWAY_LISTEN/v1/chat/completions" -H "Authorization: Bearer $1" \\
  -H 'Content-Type: application/json' -d '{"model":"demo/echo","messages":[{"role":"user","content":"hi"}]}'; }
`

/** Some requests of two keys; the last one was refused. */
const ASKED = `${FURNISHED}${ASK}
PROD=$(gatewayctl keys create prod-web)
CI=$(gatewayctl keys create ci --rpm 1)
ask "$PROD"
ask "$CI"
REFUSED=$(ask "$CI" | jq -r .request_id)
`

const GUIDE: Readonly<Record<string, Plan>> = {
  'docs/catalog.md': { before: FURNISHED },
  'docs/operator/backups.md': {
    before: `${ASKED}gatewayctl accounts create acme; mkdir -p "$HOME/etc/backups"`,
    inPlace: {
      '/var/backups/gatewayctl': '"$HOME/etc/backups"',
      'gatewayctl backup --restore FILE':
        'kill %1; wait %1 || true; gatewayctl backup --restore "$(ls -t "$HOME"/etc/backups/* | head -1)"',
    },
  },
  'docs/operator/commands.md': {
    before: `${FURNISHED}
mkdir -p "$HOME/etc" "$HOME/.config/fish/completions"
fpath=(x "$HOME/etc") PROFILE=$HOME/etc/profile.ps1
`,
    inPlace: { '/etc/bash_completion.d': '"$HOME/etc"', '~/.config': '"$HOME/.config"' },
  },
  'docs/operator/file.md': {
    before: FURNISHED,
    inPlace: { 'apply -f gateway.toml': 'apply --yes -f gateway.toml' },
  },
  'docs/operator/low-balance.md': {
    before: FURNISHED,
    notHere: {
      'gatewayctl thresholds test': 'it sends a mail, and a webhook to a stranger',
    },
  },
  'docs/operator/money.md': { before: FURNISHED },
  'docs/operator/notices.md': {
    before: FURNISHED,
    notHere: {
      'gatewayctl notices test': 'it sends a mail, and a webhook to a stranger',
    },
  },
  'docs/operator/reconcile.md': {
    before: FURNISHED,
    notHere: {
      'gatewayctl reconcile anthropic': 'it asks a vendor, with a key that nobody has here',
    },
  },
  'docs/operator/requests.md': {
    before: `${ASKED}gatewayctl accounts create acme\n`,
    inPlace: {
      'gen-01m7z7pme5dgn33v0jwjg7p919': '$REFUSED',
      'gen-01m7ze6jkdbzqj2wqg7rjt4fs1': '$REFUSED',
      'why g7p919': 'why "$(gatewayctl activity -q --limit 1 | tail -c 7)"',
      'gatewayctl activity tail': 'timeout 1 gatewayctl activity tail',
    },
    ends: { 'gatewayctl activity tail': 124 },
  },
  'docs/operator/routes.md': {
    before: `${FURNISHED}
for name in openai groq openrouter; do echo sk-x | gatewayctl providers add $name --no-check; done
EU_KEY=sk-eu
echo sk-x | gatewayctl providers add azure --no-check --base-url https://azure.example.org
`,
    inPlace: { '--key-file -': '--key-file - <<< sk-y' },
    notHere: {
      'gatewayctl providers test': 'it asks the vendors, one of them for money',
    },
  },
  'docs/operator/watching.md': {
    before: FURNISHED,
    inPlace: { 'gatewayctl dashboard': 'gatewayctl dashboard --once' },
  },
}

export const PLANS: Readonly<Record<string, Plan>> = {
  'README.md': {
    // A reader types the next block later than a gateway needs to start.
    inPlace: {
      'serve > serve.log &': 'serve > serve.log & ready',
      // No vendor hears of a test.
      'providers add openai': 'providers add openai --no-check',
    },
    notHere: { 'npm run': BUILDS, 'npm test': BUILDS, 'export PATH=': BUILDS },
    env: { OPENAI_API_KEY: 'sk-x', TOKEN: 'x' },
  },
  'docs/cabinet.md': { before: FURNISHED },
  'docs/scale.md': {
    blocksNotHere: {
      'systemctl reload': 'takeover.test.ts does it; a reload wants systemd',
      createuser: 'nodes.test.ts does it, with a PostgreSQL of its own',
      'systemctl restart': 'nodes-upgrade.test.ts does it, with a PostgreSQL of its own',
      'store move': 'move.test.ts does it, with a PostgreSQL of its own',
    },
  },
  'docs/keys.md': {
    before: `${FURNISHED}gatewayctl keys create prod-web`,
  },
  ...GUIDE,
  'docs/sign-in.md': {
    before: `gatewayctl init --no-input\nexport GATEWAY_AUTH_URL=https://auth.example.org`,
    env: { GOOGLE_SECRET: 'x' },
  },
  'docs/api.md': { before: `${FURNISHED}OPENAI_API_KEY=$(gatewayctl keys create app)` },
  'docs/clients.md': {
    blocksNotHere: {
      'OPENAI_API_KEY=if-…': 'the key is an ellipsis',
      'llm -m': 'snippets.test.ts runs it, with the program installed',
      'ANTHROPIC_AUTH_TOKEN=': 'scripts/clients runs it, with the program installed',
      'aider --model': 'scripts/clients runs it, with the program installed',
      'open-webui serve': 'scripts/clients runs it, with the program installed',
    },
  },
  'docs/install.md': {
    blocksNotHere: {
      'npx gatewayctl': 'release.test.ts runs it, from a registry of its own',
      SHA256SUMS: 'release.test.ts runs it, on a release',
      'sudo install': 'release.test.ts runs it, on a release',
      'openssl pkeyutl': 'release.test.ts runs it, on a release',
      'npm run release': 'release.test.ts makes a release so',
      systemctl: 'it wants systemd, and the rights to change it',
      docker: 'it wants Docker',
      'pre-migrate-27': 'upgrade.test.ts runs it, with the release before this one',
    },
  },
}
