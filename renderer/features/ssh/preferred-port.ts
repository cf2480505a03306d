import { t } from '../../words/en/ssh.ts'

const LOWEST = 1024
const HIGHEST = 65_535

/** Message for a text that `parsePort` rejects. */
export const portRule = () => t('portRule', { lowest: LOWEST, highest: HIGHEST })

/** Parses a port from `LOWEST` to `HIGHEST`; lower ports belong to the system. @returns undefined for any other text */
export function parsePort(text: string): number | undefined {
  const digits = text.trim()
  const port = Number(digits)
  return /^\d{4,5}$/.test(digits) && port >= LOWEST && port <= HIGHEST ? port : undefined
}
