import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { type Command } from 'commander'
import { z } from 'zod'
import { defined } from '#base/defined'
import { parseJson } from '#base/parse-json'
import { AgentCleanUp, type ApiClient, AppError, type Image, listedIn } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { EXIT } from '../exit-codes.ts'
import { listenForInterrupt } from '../interrupt.ts'
import { createOutput, table } from '../output.ts'
import { programFile } from '../program-file.ts'
import { readInputFile } from '../input-file.ts'
import { readStandardInput } from '../secret-input.ts'
import { adminOf } from './admin.ts'
import { idOfAgent } from './agents.ts'
import { followTask } from './follow-task.ts'
import { addImageAliasCommands } from './image-aliases.ts'
import { addImageDefaultsCommands } from './image-defaults.ts'
import { namesSlots, type SlotFlags, slotsOf, withSlots } from './limit-flags.ts'
import { addImageRequestCommands } from './session-image.ts'
import { amounts, bytes } from './text.ts'

interface ListFlags {
  search?: string
  json?: boolean
}

interface BuildFlags {
  recipe: string
  json?: boolean
}

interface DomainsFlags {
  all?: true
  none?: true
  json?: boolean
}

interface WhereFlags {
  agent?: string[]
  resourceGroup?: string
  json?: boolean
}

type PullFlags = WhereFlags & { fromAgents?: boolean; digest?: string }

const SEARCH = 'only images with these words in name, aliases, title, registry or apps'

/** Adds `berth image …`, for all users. */
export function addImageCommands(program: Command): void {
  const image = program.command('image').description('Images that can be launched.')
  addImageDefaultsCommands(image)
  image
    .command('ls')
    .description('List the images on agents and in registries.')
    .option('--search <text>', SEARCH)
    .option('--json', 'print JSON')
    .action(async ({ json = false, search }: ListFlags) => {
      const { api } = await connect()
      const { items } = await api.listImages({ query: { search } })
      createOutput(json).data(items, () =>
        table(
          ['IMAGE', 'ALIASES', 'TITLE', 'SIZE', 'APPS'],
          items.map(image => [
            image.reference,
            image.aliases.join(','),
            titleText(image),
            bytes(image.sizeBytes),
            image.apps.map(app => app.name).join(','),
          ]),
        ),
      )
    })
}

/** Adds `berth admin image …`, for superadmins. */
export function addAdminImageCommands(program: Command): void {
  const admin = adminOf(program)
  const image = admin.command('image').description('Images: on which agents they are, and their minimum resources.')

  image
    .command('ls')
    .option('--search <text>', SEARCH)
    .option('--json', 'print JSON')
    .action(async ({ json = false, search }: ListFlags) => {
      const { api } = await connect()
      const { items } = await api.listImages({ query: { search } })
      createOutput(json).data(items, () => imageTable(items))
    })

  addImageAliasCommands(image)
  addImageRequestCommands(image)

  withAgents(
    image
      .command('pull <reference>')
      .description('Pull an image to agents before sessions need it.')
      .option('--from-agents', 'from agents that have it, through the manager, instead of from its registry')
      .option('--digest <sha256>', 'with --from-agents: which image, if agents have several under this name'),
  ).action(async (reference: string, { json = false, fromAgents = false, digest, ...flags }: PullFlags) => {
    const { api } = await connect()
    using interrupt = listenForInterrupt()
    const { signal } = interrupt
    const source = fromAgents ? { from: 'agents' as const } : {}
    const body = { reference, ...whereOf(flags), ...source, ...defined({ digest }) }
    const task = await followTask(api, await api.pullImage({ body }), signal)
    createOutput(json).data(task, () =>
      table(
        ['AGENT', 'STATUS', 'FROM', 'WHY'],
        (task.pull ?? []).map(one => [one.agentName, one.status, one.from ?? '', one.error?.message ?? '']),
      ),
    )
    signal.throwIfAborted()
  })

  image
    .command('build [recipe...]')
    .description('Make images from recipes with the Docker Engine of this computer; without a name: list the recipes.')
    .option('--base <image>', 'image to build on, for recipes that take one (cuda)')
    .action(async (recipes: string[], { base }: { base?: string }) => {
      const words = [...recipes, ...(base === undefined ? [] : ['--base', base])]
      process.exitCode = await runRecipe(words)
    })

  image
    .command('build-on <agent> <reference>')
    .description('Build an image on an agent from a recipe (a Dockerfile). Its steps run as root on that host.')
    .requiredOption('--recipe <file>', 'the recipe; - reads standard input. No other file can be copied into the image')
    .option('--json', 'print JSON')
    .action(async (agent: string, reference: string, { recipe: file, json = false }: BuildFlags) => {
      const recipe = file === '-' ? await readStandardInput() : await readFile(file, 'utf8')
      const { api } = await connect()
      const agentId = await idOfAgent(api, agent)
      using interrupt = listenForInterrupt()
      const { signal } = interrupt
      const task = await followTask(api, await api.buildImage({ body: { reference, recipe, agentId } }), signal)
      createOutput(json).data(task, () => task.log ?? '')
      signal.throwIfAborted()
    })

  withSlots(
    image
      .command('set-minimum <reference>')
      .description('Set the minimum resources of an image. Smaller requests are raised to the minimum.'),
    false,
  )
    .option('--reset', 'use the minimum in the labels of the image again')
    .option('--json', 'print JSON')
    .action(async (reference: string, { json = false, reset = false, ...flags }: MinimumFlags) => {
      if (reset === namesSlots(flags)) {
        throw new AppError('bad_request', { why: 'Give the minimum (--cpu, --mem, …), or --reset.' })
      }
      const { api } = await connect()
      const reply = await api.updateImage({ body: { reference, minimum: reset ? null : slotsOf(flags) } })
      const output = createOutput(json)
      for (const { message } of reply.notices) output.note(`Warning: ${message}`)
      output.data(reply, () => imageTable([reply.image]))
    })

  image
    .command('set-domains <reference> [domain...]')
    .description('Let only the users of these domains see and launch an image. Running sessions continue.')
    .option('--all', 'all domains, as at first')
    .option('--none', 'no domain: superadmins alone')
    .option('--json', 'print JSON')
    .action(async (reference: string, domains: string[], { all, none, json = false }: DomainsFlags) => {
      if ([all === true, none === true, domains.length > 0].filter(Boolean).length !== 1) {
        throw new AppError('bad_request', { why: 'Give the domains, or --all, or --none.' })
      }
      const { api } = await connect()
      const reply = await api.updateImage({ body: { reference, domains: all ? null : domains } })
      createOutput(json).data(reply.image, () => {
        const { domains: now } = reply.image
        return `${reply.image.reference} is for ${now ? now.join(', ') || 'no domain' : 'all domains'}.`
      })
    })

  withAgents(
    image.command('rm <reference>').description('Remove an image from agents. Images in use are kept.'),
  ).action(async (reference: string, { json = false, ...flags }: WhereFlags) => {
    const { api } = await connect()
    const { items } = await api.removeImage({ body: { reference, ...whereOf(flags) } })
    if (items.length === 0) {
      throw new AppError('image_not_found', { image: reference, why: `No agent has the image "${reference}".` })
    }
    if (items.some(item => item.error !== null || item.images.length === 0)) process.exitCode = EXIT.failed
    createOutput(json).data(items, () => cleanUpTable(items, 'removed'))
  })

  withAgents(
    image.command('clean-up').description('Remove images from agents that are not in use and can be pulled again.'),
  )
    .option('--dry-run', 'only show which images would be removed, and how much space that frees')
    .option('--include-local', 'also session images that no registry is known to have; these are lost')
    .option('--listed <file>', 'only images that --dry-run --json listed in this file; `-`: standard input')
    .action(async ({ json = false, dryRun = false, includeLocal = false, listed, ...flags }: CleanUpFlags) => {
      const { api } = await connect()
      const where = { includeLocal, ...whereOf(flags) }
      const seen =
        listed === undefined
          ? (await api.cleanUpImages({ body: { dryRun: true, ...where } })).items
          : await readListed(listed)
      const items = dryRun ? seen : await cleanListed(api, seen, where)
      if (items.some(item => item.error !== null)) process.exitCode = EXIT.failed
      const output = createOutput(json)
      output.data(items, () => cleanUpTable(items, dryRun ? 'would be removed' : 'removed'))
      const freed = items.reduce((sum, item) => sum + item.freedBytes, 0)
      output.note(dryRun ? `At least ${bytes(freed)} would be freed.` : `Freed ${bytes(freed)}.`)
    })
}

/** Reads what `--dry-run --json` printed. @throws AppError `bad_request` for another file */
async function readListed(file: string): Promise<AgentCleanUp[]> {
  const text = (await readInputFile(file)).toString('utf8')
  const { data } = z.array(AgentCleanUp).safeParse(parseJson(text))
  if (!data) throw new AppError('bad_request', { why: `${file} is not what "clean-up --dry-run --json" prints.` })
  return data
}

/** Removes the listed images and nothing else. @returns the outcome, and the agents that could not list their images */
async function cleanListed(
  api: ApiClient,
  seen: readonly AgentCleanUp[],
  where: { includeLocal: boolean } & ReturnType<typeof whereOf>,
): Promise<AgentCleanUp[]> {
  const { items } = await api.cleanUpImages({ body: { ...where, listed: listedIn(seen) } })
  return seen.map(agent => items.find(({ agentId }) => agentId === agent.agentId) ?? agent)
}

/** Runs the program that builds images, which every package but the image of the manager has. @returns its exit code */
async function runRecipe(words: readonly string[]): Promise<number> {
  const script = programFile('build/bootstrap/make-image')
  if (!existsSync(script)) {
    throw new AppError('not_found', {
      why: 'This installation of Berth has no recipes of images. Run this command on a Docker host, from a clone or a package.',
    })
  }
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, ...words], {
    stdio: 'inherit',
  })
  // Ctrl-C reaches the child from the terminal too; it ends the build and then itself.
  using interrupt = listenForInterrupt()
  interrupt.signal.addEventListener('abort', () => child.kill('SIGTERM'))
  const [code] = (await once(child, 'exit')) as [number | null]
  interrupt.signal.throwIfAborted()
  return code ?? EXIT.failed
}

type MinimumFlags = SlotFlags & { json?: boolean; reset?: boolean }
type CleanUpFlags = WhereFlags & { dryRun?: boolean; includeLocal?: boolean; listed?: string }

function withAgents(command: Command): Command {
  return command
    .option('--agent <id...>', 'only on these agents')
    .option('--resource-group <name>', 'only on the agents of this resource group')
    .option('--json', 'print JSON')
}

function whereOf({ agent, resourceGroup }: WhereFlags) {
  return {
    ...defined({ agentIds: agent, resourceGroup }),
  }
}

/** Title with what a person should know before the launch. */
const titleText = ({ title, madeBy, architecture, volumes = [] }: Image) =>
  [
    title,
    ...(madeBy === undefined ? [] : [`(made from a session of ${madeBy})`]),
    ...(architecture === undefined ? [] : [`(for ${architecture} processors)`]),
    ...(volumes.length === 0 ? [] : [`(not kept: ${volumes.join(', ')})`]),
  ].join(' ')

const imageTable = (items: readonly Image[]) =>
  table(
    ['IMAGE', 'REGISTRY', 'AGENTS', 'MINIMUM', 'SIZE', 'DIGEST'],
    items.map(image => [
      image.reference,
      `${image.registry ?? '–'}${image.outdated ? ' (newer there)' : ''}`,
      String(image.holders),
      amounts(image.minimum),
      bytes(image.sizeBytes),
      image.digest.slice(0, 19),
    ]),
  )

const cleanUpTable = (items: readonly AgentCleanUp[], removed: string) =>
  table(
    ['AGENT', 'IMAGE', 'FREES', 'WHAT'],
    items.flatMap(({ agentName, images, kept, error }) => [
      ...images.map(one => [agentName, nameOf(one), bytes(one.uniqueBytes), removed]),
      ...kept.map(one => [agentName, nameOf(one), '', `stays: ${one.why}`]),
      ...(error ? [[agentName, '', '', `failed: ${error.message}`]] : []),
    ]),
  )

const nameOf = ({ references, digest }: { references: readonly string[]; digest: string }) =>
  references.join(', ') || digest.slice(0, 19)
