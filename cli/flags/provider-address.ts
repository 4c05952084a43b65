/** The flags that say where a provider is. */

export interface AddressFlags {
  readonly baseUrl?: string
  readonly region?: string
  readonly project?: string
}

export const REGION_HELP = 'of bedrock and vertex, instead of a base URL: eu-central-1, global, …'
export const PROJECT_HELP = 'of vertex, where it is not that of the service account'

/** The fields of the verb that are stated. */
export const readAddress = ({ baseUrl, region, project }: AddressFlags) => ({
  ...(baseUrl !== undefined && { base_url: baseUrl }),
  ...(region !== undefined && { region }),
  ...(project !== undefined && { project }),
})
