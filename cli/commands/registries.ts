import { type Command } from 'commander'
import { defined } from '#base/defined'
import { AppError, type Registry, type RegistryChange, type RegistryCheck, type Task } from '#manager/contract'
import { counted } from '../counted.ts'
import { connect } from '../config/connect.ts'
import { listenForInterrupt } from '../interrupt.ts'
import { createOutput, table } from '../output.ts'
import { promptSecret, readStandardInput } from '../secret-input.ts'
import { adminOf } from './admin.ts'
import { followTask } from './follow-task.ts'
import { age } from './text.ts'

interface RegistryFlags {
  url?: string
  project?: string[]
  allProjects?: boolean
  username?: string
  password?: boolean
  passwordStdin?: boolean
  /** False with `--no-login`. */
  login?: boolean
  active?: boolean
  allowHttp?: boolean
  json?: boolean
}

/** `berth admin registry …`, for superadmins. */
export function addRegistryCommands(program: Command): void {
  const admin = adminOf(program)
  const registry = admin.command('registry').description('Registries whose images can be launched.')

  registry
    .command('ls')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: RegistryFlags) => {
      const { api } = await connect()
      const { items } = await api.listRegistries()
      createOutput(json).data(items, () => registryTable(items))
    })

  withSettings(
    registry.command('add <host>').description('Add a registry. Its name is its host, as in the names of images.'),
  )
    .option('--inactive', 'inactive at first')
    .action(async (name: string, { json = false, ...flags }: RegistryFlags & { inactive?: boolean }) => {
      const password = await passwordOf(flags, flags.username !== undefined)
      const { api } = await connect()
      const { url, username, allowHttp = false, inactive = false } = flags
      const body = {
        name,
        projects: flags.project ?? [],
        active: !inactive,
        allowHttp,
        ...defined({ url, username, password }),
      }
      const made = await api.createRegistry({ body })
      const output = createOutput(json)
      output.data(made, () => registryTable([made]))
      output.note(`Next, find its images: berth admin registry rescan ${made.name}`)
    })

  withSettings(registry.command('update <host>').description('Change a registry. Settings that you leave out stay.'))
    .option('--all-projects', 'scan the whole catalogue again')
    .option('--no-login', 'remove the user name and the password')
    .option('--active', 'activate the registry')
    .option('--no-active', 'deactivate the registry: its images can neither be launched nor pulled')
    .action(async (name: string, { json = false, ...flags }: RegistryFlags) => {
      const password = await passwordOf(flags, flags.username !== undefined)
      const { api } = await connect()
      const changed = await api.updateRegistry({ params: { name }, body: changeOf(flags, password) })
      createOutput(json).data(changed, () => registryTable([changed]))
    })

  registry
    .command('rm <host>')
    .description('Remove a registry and the list of its images. Images on agents stay.')
    .action(async (name: string) => {
      const { api } = await connect()
      await api.deleteRegistry({ params: { name } })
    })

  registry
    .command('test <host>')
    .description('Ask a registry now for its repositories and for the tags of one. Nothing is stored.')
    .option('--json', 'print JSON')
    .action(async (name: string, { json = false }: RegistryFlags) => {
      const { api } = await connect()
      const check = await api.testRegistry({ params: { name } })
      createOutput(json).data(check, () => checkText(name, check))
    })

  registry
    .command('rescan [host]')
    .description('Scan one registry, or all active ones, for images.')
    .option('--json', 'print JSON')
    .action(async (name: string | undefined, { json = false }: RegistryFlags) => {
      const { api } = await connect()
      const { items } = await api.listRegistries()
      const names = name === undefined ? items.filter(one => one.active).map(one => one.name) : [name]
      if (names.length === 0) throw new AppError('registry_not_found', { why: 'There is no active registry.' })
      using interrupt = listenForInterrupt()
      const { signal } = interrupt
      const tasks: Task[] = []
      for (const one of names) {
        if (tasks.at(-1)?.status === 'cancelled' || signal.aborted) break
        tasks.push(await followTask(api, await api.rescanRegistry({ params: { name: one } }), signal))
      }
      const problems = tasks.flatMap(task => task.rescan?.problems ?? [])
      createOutput(json).data(tasks, () =>
        problems.length === 0
          ? outcomeOf(tasks)
          : table(
              ['LEFT OUT', 'WHY'],
              problems.map(one => [one.reference, one.why]),
            ),
      )
      signal.throwIfAborted()
    })
}

function checkText(name: string, { signedIn, repositories, repository, tags }: RegistryCheck): string {
  const how = signedIn ? 'with the stored user' : 'without a user'
  if (repository === null) return `${name} answers ${how}, and lists no repository.`
  return `${name} answers ${how}. It lists ${counted(repositories, 'repository', 'repositories')} at first; ${repository} has ${counted(tags, 'tag', 'tags')}.`
}

/** Outcome of rescans that left nothing out; a failure was reported when it happened. */
function outcomeOf(tasks: readonly Task[]): string {
  const failed = tasks.filter(task => task.status === 'failed').length
  if (failed > 0) return `${failed} of ${tasks.length} rescans failed.`
  return tasks.some(task => task.status === 'cancelled') ? 'Cancelled.' : 'No problems.'
}

function withSettings(command: Command): Command {
  return command
    .option('--url <address>', 'address (default: https://HOST); http://HOST for a registry on this computer')
    .option('--project <name...>', 'scan only these name spaces or repositories; needed for Docker Hub')
    .option('--username <name>', 'user name; the password is asked for')
    .option('--password', 'ask for a new password')
    .option('--password-stdin', 'read the password from standard input')
    .option('--allow-http', 'allow an unencrypted connection to another computer')
    .option('--json', 'print JSON')
}

async function passwordOf(flags: RegistryFlags, needed: boolean): Promise<string | undefined> {
  if (flags.passwordStdin) return readStandardInput()
  return needed || flags.password ? promptSecret('Password of the registry: ') : undefined
}

function changeOf(flags: RegistryFlags, password: string | undefined): RegistryChange {
  const { url, project, allProjects, username, login, active, allowHttp = false } = flags
  return {
    allowHttp,
    ...defined({ url }),
    ...(allProjects ? { projects: [] } : defined({ projects: project })),
    ...(login === false ? { username: null } : defined({ username })),
    ...defined({ password, active }),
  }
}

const registryTable = (items: readonly Registry[]) =>
  table(
    ['NAME', 'ADDRESS', 'USER', 'ACTIVE', 'IMAGES', 'SCANNED', 'PROJECTS'],
    items.map(one => [
      one.name,
      one.url,
      one.username ?? '–',
      one.active ? 'yes' : 'no',
      String(one.images),
      one.scannedAt === null ? 'never' : `${age(one.scannedAt)} ago`,
      one.projects.join(',') || 'all',
    ]),
  )
