/** Longer help topics: `--json` and the first run. */

/** `gatewayctl help json` */
export const JSON_TOPIC = `--json on any command makes standard output one JSON document, and nothing else.

  a list              an array, empty when there is nothing
  one thing           an object
  activity tail       one document per line, as they come
  an error            on standard error; standard output stays empty:
                      {"error":{"code":"key_not_found","message":"…","hint":"…","exit_code":3}}

Names are those of the HTTP interface. Money is a decimal string in dollars ("20.00"), with the
rubles beside it where there are any; a limit that is not set is null; times are RFC 3339 in UTC.
Fields may be added at any time; none is removed within a major version.

  gatewayctl keys --json | jq -r '.[] | select(.status == "active") | .name'
  gatewayctl usage --by model --since month --json | jq '.total.cost_usd'
  gatewayctl activity tail --errors --json | jq -c '{key_name, code, message}'

Ids only, one per line: --quiet. A pipe without --json gets tab-separated fields without a header;
--csv is for spreadsheets. A list has every row, unless --limit is given; of usage,
--json and a pipe have the rows of a terminal: --top says how many.
Every release has the JSON Schema of each document: gatewayctl-VERSION.cli-json.json, by command.`

/** `gatewayctl help first-run` */
export const FIRST_RUN_TOPIC = `Try it without a provider's key; nothing is saved:

  gatewayctl serve --demo                  prints a key and example commands
  gatewayctl dashboard                     in another terminal; also status, keys, activity tail

Set it up:

  gatewayctl init                          data directory, demo models, a first key (shown once)
  gatewayctl serve                         http://127.0.0.1:4140/v1; Ctrl-C stops it
  gatewayctl providers add openai --from-env OPENAI_API_KEY
  gatewayctl providers test                check that it answers and accepts the key
  gatewayctl balance top-up 50
  gatewayctl keys create prod-web --rpm 60 --daily-usd 5 --allow 'openai/*'

In the application, without a change to its code:

  export OPENAI_BASE_URL=http://127.0.0.1:4140/v1 OPENAI_API_KEY=if-…

Then monitor it:

  gatewayctl status                        state, health and spend
  gatewayctl activity tail                 requests as they end
  gatewayctl why gen-…                     why a request was refused, and how to lift that
  gatewayctl doctor                        check this installation
  gatewayctl backup --verify               a verified copy of the database`
