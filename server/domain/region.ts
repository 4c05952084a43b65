/** Where a cloud serves its models: each region has an address of its own, in which its name stands. */
const REGION = /^[a-z][a-z0-9-]{0,31}$/
/** Of Google Cloud's projects; `example.com:name` is an old form. */
const PROJECT = /^(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,62}$/

export const isRegion = (text: string): boolean => REGION.test(text)
export const isProject = (text: string): boolean => PROJECT.test(text)

/** Null for a type without regions. */
export function regionalAddress(type: string, region: string): string | null {
  switch (type) {
    case 'bedrock':
      return `https://bedrock-runtime.${region}.amazonaws.com`
    case 'vertex':
      return `https://${googleHost(region)}/v1`
    default:
      return null
  }
}

/** `us` and `eu` are several regions, `global` is all of them. */
function googleHost(region: string): string {
  if (region === GLOBAL) return 'aiplatform.googleapis.com'
  if (region === 'us' || region === 'eu') return `aiplatform.${region}.rep.googleapis.com`
  return `${region}-aiplatform.googleapis.com`
}

/** Google's name for no region in particular. */
export const GLOBAL = 'global'

/** Of a host of Bedrock: a region's own, one for FIPS, or that of a network's private endpoint. */
const BEDROCK_HOST = /(?:^|\.)bedrock-(?:runtime|mantle)(?:-fips)?\.([a-z0-9-]+)\./
const GOOGLE_HOST = /^(?:([a-z0-9-]+)-aiplatform|aiplatform\.(us|eu)\.rep)\.googleapis\.com$/

/** The region that the host of a provider names; null where it names none. */
export function regionOf(type: string, host: string): string | null {
  const pattern = HOSTS[type]
  const [, region, several] = pattern?.exec(host) ?? []
  return region ?? several ?? null
}

const HOSTS: Readonly<Record<string, RegExp>> = { bedrock: BEDROCK_HOST, vertex: GOOGLE_HOST }
