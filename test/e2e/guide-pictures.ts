/**
 * Pictures of docs/guide/pages.md: their names, their folder, and the page that shows them. Git keeps the English, light ones;
 * with `--all` both languages and both themes are made for a release, in dist/guide.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../fixtures/berth.ts'
import { CHAPTERS } from './guide-chapters.ts'

export interface Look {
  readonly language: 'en' | 'ko'
  readonly theme: 'light' | 'dark'
}

export const KEPT_LOOKS: readonly Look[] = [{ language: 'en', theme: 'light' }]
export const ALL_LOOKS: readonly Look[] = [
  { language: 'en', theme: 'light' },
  { language: 'en', theme: 'dark' },
  { language: 'ko', theme: 'light' },
  { language: 'ko', theme: 'dark' },
]

interface Order {
  readonly looks: readonly Look[]
  /** Folder of `pages.md` and of the pictures in `pages/`. */
  readonly folder: string
  /** Scenes to make; empty for all. */
  readonly names: readonly string[]
}

/** Reads the arguments `[--all] [NAME…]`. */
export function readOrder(args: readonly string[]): Order {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { all: { type: 'boolean', default: false } },
  })
  return {
    looks: values.all ? ALL_LOOKS : KEPT_LOOKS,
    folder: join(root, values.all ? 'dist/guide' : 'docs/guide'),
    names: positionals,
  }
}

export const pictureFile = (name: string, { language, theme }: Look) => `${name}-${language}-${theme}.webp`

/** The text of pages.md: every scene with its caption, in the first language and theme, with links to the others. */
export function guideText(looks: readonly Look[]): string {
  const [first = KEPT_LOOKS[0]!, ...others] = looks
  const link = (name: string, look: Look) => `pages/${pictureFile(name, look)}`
  const chapters = Object.entries(CHAPTERS).map(([title, scenes]) => {
    const pictures = Object.entries(scenes).map(([name, caption]) => {
      const more = others.map(look => `[${titleOf(look)}](${link(name, look)})`).join(' · ')
      return `![${name.replaceAll('-', ' ')}](${link(name, first)})\n\n${`${caption} ${more}`.trim()}\n`
    })
    return `## ${title}\n\n${pictures.join('\n')}`
  })
  return `# Every page and dialog\n\nBerth's pages and dialogs with made-up data.\n\n${chapters.join('\n')}`
}

function titleOf({ language, theme }: Look): string {
  if (language === 'en') return theme
  return theme === 'light' ? '한국어' : '한국어, 어두운 테마'
}
