/** What the small gateways of part `floor` do, each as much as the one before and something more. */
export const STEPS = ['client', 'json', 'accounting'] as const
export type Step = (typeof STEPS)[number]
