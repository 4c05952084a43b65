/** Provider names of OpenTelemetry's conventions for generative AI. */

const KNOWN: Readonly<Record<string, string>> = {
  google: 'gcp.gemini',
  azure: 'azure.ai.openai',
  mistral: 'mistral_ai',
  xai: 'x_ai',
}

/** Most names are the same as ours; unknown providers keep the operator's name. */
export const semanticName = (provider: string): string => KNOWN[provider] ?? provider
