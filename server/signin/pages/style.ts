/** The stylesheet of the pages, allowed in the CSP by its digest. It uses system fonts. */
import { createHash } from 'node:crypto'

/**
 * Text has a contrast of at least 4.5:1, field borders of 3:1 (WCAG 2.2 AA).
 * A transparent border becomes visible where the system forces its own colours.
 */
export const STYLE = `
:root{color-scheme:light dark;--ground:#f3f2ee;--card:#fff;--ink:#1d1c1a;--soft:#5e5a53;--edge:#e4e1da;--field:#868178;--lead:#1f544b;--lead-over:#17413a;--on-lead:#fff;--quiet-over:#f3f2ee;--bad:#9c2a1f;--bad-ground:#fbf1ef;--good-ground:#eef5f2;--shade:0 1px 2px rgb(40 34 20/.05),0 12px 40px -12px rgb(40 34 20/.12)}
@media (prefers-color-scheme:dark){:root{--ground:#141513;--card:#1c1e1c;--ink:#ecebe6;--soft:#a9a69e;--edge:#2d302d;--field:#787670;--lead:#93cdbd;--lead-over:#aedccf;--on-lead:#0e2621;--quiet-over:#262926;--bad:#f2a79c;--bad-ground:#2e1f1c;--good-ground:#1d2a26;--shade:none}}
*{box-sizing:border-box;margin:0}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%}
body{min-height:100vh;min-height:100svh;display:flex;flex-direction:column;align-items:center;padding:1rem;background:var(--ground);color:var(--ink);font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:anywhere}
main{width:100%;max-width:26.5rem;margin:auto;padding:2rem 1.5rem;background:var(--card);border:1px solid var(--edge);border-radius:1.25rem;box-shadow:var(--shade)}
footer{padding:1.25rem 0 .25rem;color:var(--soft);font-size:.8125rem}
.mark{display:block;width:2rem;height:2rem;margin-bottom:1.5rem;color:var(--lead)}
p,li{text-wrap:pretty}
h1{font-size:1.5rem;line-height:1.25;font-weight:600;letter-spacing:-.012em;text-wrap:balance}
.lead{margin-top:.375rem;color:var(--soft)}
.lead strong,.who strong{color:var(--ink);font-weight:600}
form{margin-top:1.75rem}
label{display:block;margin-bottom:.375rem;font-size:.9375rem;font-weight:500}
input{display:block;width:100%;min-height:3rem;padding:.625rem .875rem;border:1px solid var(--field);border-radius:.625rem;background:transparent;color:inherit;font:inherit}
input[aria-invalid=true]{border-color:var(--bad)}
.code{font-size:1.5rem;letter-spacing:.22em;font-variant-numeric:tabular-nums}
.hint{margin-top:.5rem;color:var(--soft);font-size:.875rem}
button{display:block;width:100%;min-height:3rem;padding:.625rem 1rem;border:1px solid transparent;border-radius:.625rem;font:inherit;font-weight:500;cursor:pointer}
a{display:block;min-height:3rem;padding:.625rem 1rem;border:1px solid transparent;border-radius:.625rem;font-weight:500;text-align:center;text-decoration:none}
.lead-button{margin-top:1.25rem;background:var(--lead);color:var(--on-lead)}
.lead-button:hover{background:var(--lead-over)}
.quiet-button{background:transparent;border-color:var(--field);color:inherit}
.quiet-button svg{width:1.125rem;height:1.125rem;margin-inline-end:.625rem;vertical-align:-.1875rem}
.quiet-button:hover,.text-button:hover{background:var(--quiet-over)}
button+.quiet-button,form+form .quiet-button{margin-top:.75rem}
form+form{margin-top:0}
.text-button{width:auto;min-height:2.75rem;padding:.5rem .75rem;background:transparent;color:var(--lead);font-size:.9375rem}
.links{display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 .5rem;margin:1rem -.75rem -.75rem}
.links form{margin:0}
:focus-visible{outline:3px solid var(--lead);outline-offset:2px}
input:focus-visible{outline-width:2px;outline-offset:-1px}
.or{display:flex;align-items:center;gap:1rem;margin:1.5rem 0 -.25rem;color:var(--soft);font-size:.875rem}
.or::before,.or::after{content:"";flex:1;border-top:1px solid var(--edge)}
.problem,.notice{margin-top:1.25rem;padding:.75rem .875rem;border:1px solid transparent;border-radius:.625rem;font-size:.9375rem}
.problem{background:var(--bad-ground);color:var(--bad)}
.notice{background:var(--good-ground)}
.problem+form,.notice+form{margin-top:1.25rem}
.scopes{margin:.5rem 0 0;padding-left:1.25rem}
.scopes li{padding-left:.125rem;margin-top:.25rem}
.scopes ::marker,.scopes li::marker{color:var(--lead)}
.who{margin-top:1.25rem;color:var(--soft);font-size:.9375rem}
.body{margin-top:.75rem}
dl{margin-top:1.5rem;padding-top:1.25rem;border-top:1px solid var(--edge);font-size:.875rem}
dt{color:var(--soft)}
dd{margin:0 0 .75rem}
dd:last-child{margin-bottom:0}
dd small{display:block;color:var(--soft);font-size:inherit}
code{font:.9375em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
@media (min-width:30rem){body{padding:2rem}main{padding:2.75rem 2.5rem}}
@media (prefers-reduced-motion:no-preference){button{transition:background-color .15s}}
`

/** The `style-src` that allows it. */
export const STYLE_SOURCE = `'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`
