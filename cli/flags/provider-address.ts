/** The flags that say where a provider is. */

export interface AddressFlags {
  readonly baseUrl?: string
  readonly region?: string
  readonly project?: string
}

export const REGION_HELP = 'of bedrock and vertex, instead of a base URL: eu-central-1, global, …'
export const PROJECT_HELP = 'of vertex, where it is not that of the service account'

/** The fields of the verb. */
export const readAddress = ({ baseUrl: base_url, region, project }: AddressFlags) => ({
  base_url,
  region,
  project,
})
