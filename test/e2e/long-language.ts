import { readdir } from 'node:fs/promises'
import { type MessageFormatElement, parse, TYPE } from '@formatjs/icu-messageformat-parser'
import { printAST } from '@formatjs/icu-messageformat-parser/printer.js'
import { type Page } from 'playwright-core'
import { catalogueSource } from '../../build/vite-words.ts'
import { featuresOf, readCatalogue } from '../../build/read-catalogue.ts'

const WORDS = new URL('../../renderer/words/', import.meta.url)
const ACCENTED: Readonly<Record<string, string>> = {
  a: 'ä',
  e: 'ë',
  i: 'ï',
  o: 'ö',
  u: 'ü',
  n: 'ñ',
  A: 'Å',
  E: 'É',
  O: 'Ö',
}

/** A text twice as long, with accents; tags such as `<link>` stay, as do units and abbreviations. */
export function lengthen(text: string): string {
  return text
    .split(/(<[^>]*>)/)
    .map(part => (part.startsWith('<') || !/\p{L}{4}/u.test(part) ? part : twice(part)))
    .join('')
}

function twice(part: string): string {
  const [, before = '', words = '', after = ''] = /^(\s*)(.*?)(\s*)$/su.exec(part) ?? []
  const accented = words.replace(/[aeiounAEO]/g, letter => ACCENTED[letter] ?? letter)
  return `${before}${accented} ${accented.replace(/[.:…?!]+$/, '')}${after}`
}

function lengthenParts(parts: readonly MessageFormatElement[]): MessageFormatElement[] {
  return parts.map(part => {
    if (part.type === TYPE.literal) return { ...part, value: lengthen(part.value) }
    if (!('options' in part)) return part
    const options = Object.entries(part.options).map(([name, option]) => [
      name,
      { ...option, value: lengthenParts(option.value) },
    ])
    return { ...part, options: Object.fromEntries(options) as typeof part.options }
  })
}

/** Functions that the compiled messages call, for a self-contained module. */
const FUNCTIONS = `const number = value => String(value)
const plural = (language, count, branches) => (branches['=' + count] ?? branches.other)(String(count))
const select = (value, branches) => (branches[value] ?? branches.other)()`

/**
 * The texts of a made-up language that is twice as long as English, as a module in the form of the file with the Korean texts. With this, a
 * layout shows whether it has enough space for languages that the console does not have yet.
 */
export async function longLanguage(): Promise<string> {
  const features = await featuresOf(WORDS, 'en')
  const sources = await Promise.all(
    features.map(async feature => {
      const messages = Object.entries(await readCatalogue(new URL(`en/${feature}.ts`, WORDS).pathname))
      const long = messages.map(([key, text]) => [key, printAST(lengthenParts(parse(text, { ignoreTag: true })))])
      const source = catalogueSource('en', Object.fromEntries(long) as Record<string, string>)
      return `${JSON.stringify(feature)}: ${source.slice(source.indexOf('{\n', source.indexOf('const messages')), source.indexOf('export default'))}`
    }),
  )
  return `${FUNCTIONS}\nexport default {\n${sources.join(',\n')}\n}\n`
}

/** Name of the built file with the Korean texts. */
async function koreanFile(): Promise<string> {
  const names = await readdir(new URL('../../dist/renderer/assets/', import.meta.url))
  const found = names.find(name => /^korean-[\w-]+\.js$/.test(name))
  if (found === undefined) throw new Error('the built page has no file with the Korean texts')
  return found
}

/** Replaces Korean on the page by the made-up language. */
export async function serveLongLanguage(page: Page, module: string): Promise<void> {
  const name = await koreanFile()
  await page.route(`**/${name}`, route => route.fulfill({ contentType: 'text/javascript', body: module }))
}
