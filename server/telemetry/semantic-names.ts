/** Names of providers as OpenTelemetry's conventions for generative AI have them. */

const KNOWN: Readonly<Record<string, string>> = {
  google: 'gcp.gemini',
  azure: 'azure.ai.openai',
  mistral: 'mistral_ai',
  xai: 'x_ai',
}

/** Many vendors are called there as here; one that nobody knows goes by the operator's own name. */
export const semanticName = (provider: string): string => KNOWN[provider] ?? provider
