/** Topics that are read once and looked up later: what `--json` promises, and the first ten minutes. */

/** `gatewayctl help json` */
export const JSON_TOPIC = `--json on any command makes standard output one JSON document, and nothing else.

  a list              an array, empty when there is nothing
  one thing           an object
  activity tail       one document a line, as they come
  an error            on standard error; standard output stays empty:
                      {"error":{"code":"key_not_found","message":"…","hint":"…","exit_code":3}}

Names are those of the HTTP interface. Money is a decimal text in dollars ("20.00"), with the
rubles beside it where there are any; a limit that is not set is null; times are RFC 3339 in UTC.
Fields are added without notice, and never taken away within one major version.

  gatewayctl keys --json | jq -r '.[] | select(.status == "active") | .name'
  gatewayctl usage --by model --since month --json | jq '.total.cost_usd'
  gatewayctl activity tail --errors --json | jq -c '{key_name, code, message}'

Ids alone, one a line: --quiet. A pipe without --json gets tab-separated fields without a header;
spreadsheets want --csv. The schema of every document lies in docs/cli-json.`

/** `gatewayctl help first-run` */
export const FIRST_RUN_TOPIC = `Without a provider's key, with nothing kept:

  gatewayctl serve --demo                  it prints a key and what to type next
  gatewayctl dashboard                     in another terminal; so do status, keys, activity tail

For real:

  gatewayctl init                          data directory, demo models, a first key (shown once)
  gatewayctl serve                         http://127.0.0.1:4140/v1; Ctrl-C stops it
  gatewayctl providers add openai --from-env OPENAI_API_KEY
  gatewayctl providers test                does it answer, does it take the key
  gatewayctl balance top-up 50
  gatewayctl keys create prod-web --rpm 60 --daily-usd 5 --allow 'openai/*'

In the application, whose code stays as it is:

  export OPENAI_BASE_URL=http://127.0.0.1:4140/v1 OPENAI_API_KEY=if-…

Then look:

  gatewayctl status                        is it well, what does it spend
  gatewayctl activity tail                 requests as they end
  gatewayctl why gen-…                     why one was refused, and what lifts that
  gatewayctl doctor                        what this installation lacks
  gatewayctl backup --verify               a copy that has been looked through`
