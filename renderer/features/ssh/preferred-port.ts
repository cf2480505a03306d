const LOWEST = 1024
const HIGHEST = 65_535

/** Said where `parsePort` says no. */
export const PORT_RULE = `Enter a number from ${LOWEST} to ${HIGHEST}`

/** Lower ports belong to the system. @returns undefined for what is no such port */
export function parsePort(text: string): number | undefined {
  const digits = text.trim()
  const port = Number(digits)
  return /^\d{4,5}$/.test(digits) && port >= LOWEST && port <= HIGHEST ? port : undefined
}
