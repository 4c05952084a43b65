/** Examples for the end of each help page. */

const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  init: ['init', 'init --no-input --name prod-web --demo-credit 10'],
  serve: ['serve', 'serve --demo', 'serve --listen 0.0.0.0:4140 --base-url https://gw.example.org'],
  status: ['status', 'status -q && echo it serves'],
  dashboard: ['dashboard', 'dashboard --once --screen keys'],
  'keys create': [
    "keys create prod-web --rpm 60 --daily-usd 20 --allow 'openai/*'",
    'KEY=$(gatewayctl keys create ci --expires 30d)',
    'keys create terraform --kind provisioning --out terraform.key',
  ],
  'keys list': ['keys', "keys list --sort spend --json | jq -r '.[].name'"],
  'keys show': ['keys show prod-web', 'keys show --secret-stdin < leaked.txt'],
  'keys edit': ['keys edit prod-web --disable', 'keys edit prod-web --name shop --expires never'],
  'keys rotate': ['keys rotate prod-web --grace 24h', 'keys rotate prod-web --grace 0 --yes'],
  'keys revoke': ['keys revoke prod-web', 'keys revoke ci-1 ci-2 --yes'],
  'limits show': ['limits', 'limits show prod-web'],
  'limits set': [
    'limits set prod-web --rpm 120 --monthly-usd 100',
    "limits set ci-1 ci-2 --rpd none --allow 'demo/*' --allow openai/gpt-5-mini",
  ],
  'accounts list': ['accounts'],
  'accounts show': ['accounts show default'],
  'accounts create': ['accounts create team-b', 'balance top-up 50 --account team-b'],
  'accounts rename': ['accounts rename team-b research'],
  'accounts edit': ['accounts edit team-b --member-daily-usd 2'],
  'accounts members': [
    'accounts members list team-b',
    'accounts members add team-b someone@example.org --role owner',
    'accounts members remove team-b someone@example.org',
  ],
  'providers add': [
    'providers add openai --from-env OPENAI_API_KEY',
    'providers add anthropic --key-file anthropic.key',
    'providers add ollama --type openai-compatible --base-url http://127.0.0.1:11434/v1 --no-key',
  ],
  'providers list': ['providers'],
  'providers show': ['providers show openai'],
  'providers edit': ['providers edit openai --key-file - < openai.key'],
  'providers test': ['providers test', 'providers test openai --model openai/gpt-5-mini --spend'],
  'providers remove': ['providers remove ollama'],
  'models list': ['models', "models list 'openai/*'", 'models list --unpriced'],
  'models show': ['models show demo/echo'],
  'models add': [
    'models add local/llama --provider local --upstream llama-3 --in-usd 0.05 --out-usd 0.10',
  ],
  'models price': [
    'models price openai/gpt-5-mini --in-usd 0.25 --out-usd 2',
    'models price openai/gpt-image-1 --per-image-usd 1024x1024/medium=0.042',
  ],
  'models route': [
    'models route openai/gpt-5-mini --via azure --upstream my-deployment --order 2',
    "models route 'openai/*' --via openrouter --upstream 'openai/*'",
    'models route openai/gpt-5-mini --order latency',
    'models route openai/gpt-5-mini --reset',
  ],
  'models alias': ['models alias', 'models alias claude-opus-4-8 openai/gpt-5-mini'],
  'models unalias': ['models unalias claude-opus-4-8'],
  'models refresh': ['models refresh --dry-run', "models refresh 'openai/*' --from api.json"],
  'models remove': ['models remove local/llama'],
  export: ['export > gateway.toml', 'export --out gateway.toml'],
  apply: [
    'apply --file gateway.toml --dry-run',
    'apply --file gateway.toml --yes --secrets-out new-keys.txt',
  ],
  'balance show': ['balance'],
  'balance top-up': ['balance top-up 50', 'balance top-up 1850rub --ref invoice-17'],
  'balance adjust': ['balance adjust -2.50 --note "charged twice by the vendor"'],
  'ledger list': ['ledger --key prod-web --since today', 'ledger --since month --csv > ledger.csv'],
  'usage report': [
    'usage --by key --then-by model',
    'usage --by user --since 7d --json | jq .total.cost_usd',
  ],
  'usage drift': ['usage drift --since month'],
  'rates show': ['rates'],
  'rates set': ['rates set USD/RUB 92.50', 'rates set USD/RUB 95 --from 2026-12-01T00:00:00Z'],
  'thresholds show': ['thresholds'],
  'thresholds set': [
    'thresholds set --below 20 --email ops@example.org',
    'thresholds set --webhook https://ops.example.org/hook',
  ],
  'thresholds test': ['thresholds test', 'thresholds test webhook'],
  'users list': ['users'],
  'users show': ['users show someone@example.org'],
  'users add': ['users add someone@example.org --name "Some One"'],
  'users edit': ['users edit someone@example.org --name "Some One"'],
  'users events': ['users events --refused --since today'],
  'users test-mail': ['users test-mail someone@example.org'],
  'users disable': ['users disable someone@example.org'],
  'users enable': ['users enable someone@example.org'],
  'users remove': ['users remove someone@example.org'],
  'users sessions': ['users sessions revoke someone@example.org'],
  'users identities': ['users identities remove someone@example.org google'],
  'groups list': ['groups'],
  'groups show': ['groups show staff'],
  'groups add': ['groups add staff someone@example.org'],
  'groups remove': ['groups remove staff someone@example.org'],
  'clients create': ['clients create Wiki --redirect-uri https://wiki.example.org/callback'],
  'clients list': ['clients'],
  'clients show': ['clients show Wiki'],
  'clients edit': ['clients edit Wiki --logout-uri https://wiki.example.org/'],
  'clients rotate-secret': ['clients rotate-secret Wiki'],
  'clients remove': ['clients remove Wiki'],
  'clients rotate-signing-key': ['clients rotate-signing-key'],
  'identities add': [
    'identities add google --client-id 1234.apps.googleusercontent.com --key-file google.secret',
    'identities add staff --issuer https://id.example.org --client-id gateway --from-env SECRET',
  ],
  'identities list': ['identities'],
  'identities show': ['identities show google'],
  'identities edit': ['identities edit google --new-secret < google.secret'],
  'identities remove': ['identities remove google'],
  'activity tail': ['activity tail', 'activity tail --errors --json | jq -c .message'],
  'activity list': [
    'activity --key prod-web --status 429 --since 1h',
    'activity list --slow 10s --csv > slow.csv',
    'activity list --admin',
  ],
  'activity show': ['activity show gen-01j9x2'],
  'activity kill': ['activity kill gen-01j9x2', 'activity kill gen-01j9x2 --yes'],
  why: ['why gen-01j9x2'],
  'deliveries list': ['deliveries'],
  'deliveries show': ['deliveries show evt_01j9x2'],
  'deliveries redeliver': ['deliveries redeliver evt_01j9x2 webhook'],
  audit: ['audit', 'audit --json'],
  backup: [
    'backup --verify --keep 7',
    'backup /mnt/copies/gateway.db --verify',
    'backup --restore /mnt/copies/gateway.db --confirm gateway.db',
  ],
  doctor: ['doctor', 'doctor -q || echo look at it'],
  'config show': ['config', 'config show --origin'],
  'config check': ['config check new.toml'],
  'config path': ['"$EDITOR" "$(gatewayctl config path)"'],
  completion: [
    'completion bash > /etc/bash_completion.d/gatewayctl',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: zsh fills it in
    'completion zsh > "${fpath[1]}/_gatewayctl"',
    'completion fish > ~/.config/fish/completions/gatewayctl.fish',
  ],
}

/** All examples of one command, or the first example of each of several. */
export function examplesOf(commands: readonly string[]): string {
  const all = commands.map((command) => EXAMPLES[command] ?? [])
  const lines = (commands.length === 1 ? all : all.map((own) => own.slice(0, 1))).flat()
  return ['', lines.length === 1 ? 'Example:' : 'Examples:', ...lines.map(inFull)].join('\n')
}

/** Adds the program's name, unless the line already has it. */
const inFull = (line: string): string =>
  line.includes('gatewayctl ') ? `  ${line}` : `  gatewayctl ${line}`
