/**
 * Encodings that the preview can show. `euc-kr` of browsers is CP949, and `windows-1252` is Latin-1 with some more characters. @see
 * https://encoding.spec.whatwg.org
 */
export const ENCODINGS = ['utf-8', 'utf-16le', 'utf-16be', 'euc-kr', 'windows-1252'] as const
export type TextEncoding = (typeof ENCODINGS)[number]

export interface DecodedText {
  readonly text: string
  readonly encoding: TextEncoding
}

/** Number of bytes that are examined to distinguish text from other files. */
const LOOKED_AT = 8_192

/**
 * Decodes text: UTF-16 by its mark, UTF-8 if it is valid, and else an encoding of old Korean or European files. The latter is a guess,
 * which the reader can change.
 *
 * @param isWhole false: the end may be cut within a character
 * @returns null for binary files: they have control characters
 */
export function decodeText(bytes: Uint8Array, isWhole: boolean): DecodedText | null {
  const marked = encodingOfMark(bytes)
  if (marked) return { text: decodeAs(bytes, marked), encoding: marked }
  if (bytes.subarray(0, LOOKED_AT).includes(0)) return null
  try {
    // Keep the byte order mark in the text, so that it is saved too.
    const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    return { text: decoder.decode(bytes, { stream: !isWhole }), encoding: 'utf-8' }
  } catch {
    if (bytes.subarray(0, LOOKED_AT).some(isControl)) return null
    const encoding = looksKorean(bytes) ? 'euc-kr' : 'windows-1252'
    return { text: decodeAs(bytes, encoding), encoding }
  }
}

/** Decodes text in an encoding that the reader has chosen. Invalid bytes become U+FFFD. */
export const decodeAs = (bytes: Uint8Array, encoding: TextEncoding): string => new TextDecoder(encoding).decode(bytes)

function encodingOfMark([first, second]: Uint8Array): TextEncoding | undefined {
  if (first === 0xff && second === 0xfe) return 'utf-16le'
  return first === 0xfe && second === 0xff ? 'utf-16be' : undefined
}

/** Control characters that texts do not have: all but tab, line breaks, form feed and escape. */
const isControl = (byte: number) => byte < 0x20 && ![0x09, 0x0a, 0x0c, 0x0d, 0x1b].includes(byte)

/** Whether bytes above ASCII come in pairs, as in Korean text; European letters usually stand alone between others. */
function looksKorean(bytes: Uint8Array): boolean {
  let pairs = 0
  let alone = 0
  for (let at = 0; at < bytes.length; at++) {
    if ((bytes[at] ?? 0) < 0x80) continue
    if (isOfPair(bytes[at]) && isOfPair(bytes[at + 1])) {
      pairs++
      at++
    } else alone++
  }
  return pairs > alone
}

const isOfPair = (byte = 0) => byte >= 0xa1 && byte <= 0xfe
