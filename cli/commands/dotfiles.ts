import { type Command } from 'commander'
import { type ApiClient, AppError, because, type Dotfile } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { readInputFile } from '../input-file.ts'
import { createOutput, table } from '../output.ts'
import { age } from './text.ts'

interface JsonFlag {
  json?: boolean
}

/** `berth dotfile …` and `berth startup-script …`: files and script that the user's new sessions begin with. */
export function addDotfileCommands(program: Command): void {
  const dotfile = program
    .command('dotfile')
    .description('Your dotfiles: files that are put into the home of each new session of yours.')

  dotfile
    .command('ls')
    .description('List your dotfiles.')
    .option('--json', 'print JSON, with the content of the files')
    .action(async ({ json = false }: JsonFlag) => {
      const { api } = await connect()
      const { items } = await api.listDotfiles()
      createOutput(json).data(items, () => dotfileTable(items))
    })

  dotfile
    .command('get <path>')
    .description('Print the content of a dotfile, such as .bashrc.')
    .option('--json', 'print JSON')
    .action(async (path: string, { json = false }: JsonFlag) => {
      const { api } = await connect()
      const found = await findDotfile(api, path)
      printContent(found, found.content, json)
    })

  dotfile
    .command('put <path> [file]')
    .description('Make or replace a dotfile with the content of a file, or of standard input.')
    .option('--mode <digits>', 'permissions, e.g. 600 (default: those that the dotfile has, or 644)')
    .option('--json', 'print JSON')
    .action(async (path: string, file: string | undefined, { mode, json = false }: JsonFlag & { mode?: string }) => {
      const content = await readText(file)
      const { api } = await connect()
      const before = (await api.listDotfiles()).items.find(known => known.path === path)
      const saved = await api.putDotfile({ body: { path, content, mode: mode ?? before?.mode ?? '644' } })
      createOutput(json).data(saved, () => dotfileTable([saved]))
    })

  dotfile
    .command('rm <paths...>')
    .description('Remove dotfiles. Running sessions keep them.')
    .action(async (paths: string[]) => {
      const { api } = await connect()
      for (const path of paths) await api.deleteDotfile({ query: { path } })
    })

  const script = program
    .command('startup-script')
    .description('Your start-up script: bash that runs once in each new session of yours, before apps start.')

  script
    .command('show')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: JsonFlag) => {
      const { api } = await connect()
      const kept = await api.getBootstrapScript()
      printContent(kept, kept.script, json)
    })

  script
    .command('set [file]')
    .description('Store a file, or standard input, as the start-up script.')
    .action(async (file: string | undefined) => {
      const text = await readText(file)
      if (text.trim() === '') throw new AppError('bad_request', { why: 'The script is empty. `rm` removes it.' })
      const { api } = await connect()
      await api.setBootstrapScript({ body: { script: text } })
      createOutput(false).note('New sessions run this script when they start.')
    })

  script
    .command('rm')
    .description('Remove the start-up script.')
    .action(async () => {
      const { api } = await connect()
      await api.setBootstrapScript({ body: { script: '' } })
    })
}

/** The file, or standard input if no file is named or the name is `-`, as UTF-8 text. */
async function readText(file: string | undefined): Promise<string> {
  const bytes = await readInputFile(file ?? '-')
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    throw new AppError('bad_request', { why: `${file ?? 'Standard input'} is not text in UTF-8.` }, { cause: error })
  }
}

/** @throws AppError `dotfile_not_found` */
async function findDotfile(api: ApiClient, path: string): Promise<Dotfile> {
  const found = (await api.listDotfiles()).items.find(known => known.path === path)
  if (!found) throw new AppError('dotfile_not_found', because('dotfile_unknown', { path }))
  return found
}

/** Prints the content byte by byte into pipes and files; a terminal gets no control sequences, which it would obey. */
function printContent(value: unknown, content: string, json: boolean): void {
  if (!json && !process.stdout.isTTY) process.stdout.write(content)
  else createOutput(json).data(value, () => content.replace(/\n$/, ''))
}

const dotfileTable = (items: readonly Dotfile[]) =>
  table(
    ['PATH', 'MODE', 'SIZE', 'AGE'],
    items.map(({ path, mode, content, changedAt }) => [path, mode, `${Buffer.byteLength(content)} B`, age(changedAt)]),
  )
