/**
 * Random text of 128 bits. Browsers have `crypto.randomUUID` only for secure pages, and none for pages loaded by plain http from another
 * computer.
 */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
}
