import { type LocationQuery } from 'vue-router'

/** A program on this computer that wants the code of a sign-in. */
export interface ProgramRequest {
  readonly code: string
  /** Port on 127.0.0.1 at which the program listens. */
  readonly port: number
  /** Name of the person at the provider. */
  readonly name: string
  /** Word that the program shows as well. */
  readonly word: string
}

const MOST_NAME = 320

export const isSignInCode = (text: unknown): text is string =>
  typeof text === 'string' && /^berth_[\w-]{43}$/.test(text)

/** Reads the address to which the manager sent the browser. @returns null if a part is missing or invalid */
export function programRequestOf(query: LocationQuery): ProgramRequest | null {
  const text = (key: string) => (typeof query[key] === 'string' ? query[key] : '')
  const [code, port, name, word] = [text('code'), Number(text('port')), text('name'), text('word')]
  const isWhole =
    isSignInCode(code) &&
    Number.isInteger(port) &&
    port >= 1024 &&
    port <= 65_535 &&
    /^[A-Z]{4}-[A-Z]{4}$/.test(word) &&
    name !== ''
  return isWhole ? { code, port, name: name.slice(0, MOST_NAME), word } : null
}
