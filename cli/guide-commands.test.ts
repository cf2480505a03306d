import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Command } from 'commander'
import { expect, test } from 'vitest'
import { blocksOf } from '../test/fixtures/page-blocks.ts'
import { createProgram } from './main.ts'

const ROOT = join(import.meta.dirname, '..')
const PAGES = [
  'README.md',
  ...['docs', 'docs/admin', 'docs/guide'].flatMap(folder =>
    readdirSync(join(ROOT, folder)).flatMap(name => (name.endsWith('.md') ? [`${folder}/${name}`] : [])),
  ),
]
const read = (page: string) => readFileSync(join(ROOT, page), 'utf8')
/** Whether a command only has sub-commands. */
const isFamily = ({ commands, registeredArguments }: Command) => commands.length > 0 && registeredArguments.length === 0
const everyCommand = (command: Command): Command[] => [command, ...command.commands.flatMap(everyCommand)]

/** The command line of Berth; its commands do nothing. */
const program = createProgram(true)
for (const command of everyCommand(program)) if (!isFamily(command)) command.action(() => undefined)

/** Words after `berth` of each command line in the shell blocks of a page. */
function linesOf(page: string): string[][] {
  const lines = blocksOf(page, 'sh').flatMap(block => block.replaceAll('\\\n', ' ').split('\n'))
  return lines.flatMap(line =>
    splitShell(line).flatMap(part => {
      const [, rest] = /^(?:[A-Z_]+=\S*\s+)*(?:sudo\s+)?(?:npx\s+(?:--package=\S+\s+)?)?berth\s+(.*)$/.exec(part) ?? []
      return rest === undefined ? [] : [wordsOf(rest)]
    }),
  )
}

/** The commands of a line: without its comment, apart at `|`, `&&` and `;` outside of quotes. */
function splitShell(line: string): string[] {
  const parts = line.match(/"[^"]*"|'[^']*'|\s#.*$|^#.*$|\||&&|;|[^\s|;&"']+|\s+|./g) ?? []
  const commands: string[] = []
  let command = ''
  for (const part of parts) {
    if (/^\s?#/.test(part)) break
    if (['|', '&&', ';'].includes(part)) {
      commands.push(command)
      command = ''
    } else command += part
  }
  return [...commands, command].map(one => one.trim())
}

const wordsOf = (text: string) =>
  (text.replace(/\s\d?[<>].*$/, '').match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? []).map(word =>
    word.replaceAll(/["']/g, ''),
  )

/** Commander's refusal of a command line; undefined if it accepts it. */
async function refusalOf(words: readonly string[]): Promise<string | undefined> {
  return await program.parseAsync([...words], { from: 'user' }).then(
    () => undefined,
    (error: unknown) => String(error),
  )
}

test.each(PAGES)('berth accepts each command line of %s', async page => {
  const refused: Record<string, string> = {}
  for (const words of linesOf(read(page))) {
    const why = await refusalOf(words)
    if (why !== undefined) refused[words.join(' ')] = why
  }
  expect(refused).toEqual({})
})

/** The command that the first words name, and the words that follow. */
function commandOf(parent: Command, words: readonly string[]): { command: Command; rest: readonly string[] } {
  const found = parent.commands.find(one => [one.name(), ...one.aliases()].includes(words[0] ?? ''))
  return found ? commandOf(found, words.slice(1)) : { command: parent, rest: words }
}

test.each(PAGES)('each command and option that the text of %s names is there', page => {
  const text = read(page).replaceAll(/```[^]*?```/g, '')
  const unknown = [...text.matchAll(/`(?:npx )?berth ((?!-)[^`]+)`/g)].flatMap(([, said = '']) => {
    const words = said.replaceAll(/[[\]{}()…]/g, ' ').split(/[\s|]+/)
    const { command, rest } = commandOf(program, words)
    if (isFamily(command) && /^[a-z][a-z-]+$/.test(rest[0] ?? '')) return [said]
    const known = [command, program].flatMap(one => one.options)
    const named = (word = '') => known.find(({ long, short }) => [long, short].includes(word.replace(/=.*$/, '')))
    const ofBerth = rest.includes('--') ? rest.slice(0, rest.indexOf('--')) : rest
    const wrong = ofBerth.filter((word, at) => {
      const isValue = named(ofBerth[at - 1])?.required === true
      return /^--?[a-z]/.test(word) && word !== '--help' && !isValue && !named(word)
    })
    return wrong.length > 0 ? [said] : []
  })
  expect(unknown).toEqual([])
})

const GUIDES = PAGES.filter(page => /^docs\/(admin|guide)\//.test(page))

test.each(GUIDES)('each variable that the commands of %s set is one of the configuration', page => {
  const known = new Set(read('docs/configuration.md').match(/\bBERTH_[A-Z]+(?:_[A-Z]+)*\b/g))
  const set = blocksOf(read(page), 'sh').flatMap(block => [...block.matchAll(/\b(BERTH_[A-Z_]+)=/g)])
  expect(set.map(([, name = '']) => name).filter(name => !known.has(name))).toEqual([])
})
