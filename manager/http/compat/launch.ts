import { z } from 'zod'
import { defined } from '#base/defined'
import { type ApiClient, AppError, type FolderMountSpec, type SessionSpec } from '#manager/contract'
import { readSlots } from './amounts.ts'
import { findKeypair } from './find.ts'
import { Flag, NumberText } from './input.ts'

const Text = z.string().max(512)
const Names = z.array(Text).max(50)
const Paths = z.record(Text, z.string().max(1_100))

const Config = z.object({
  mounts: Names.default([]),
  mount_map: Paths.default({}),
  mount_ids: Names.default([]),
  mount_id_map: Paths.default({}),
  mount_options: z.record(Text, z.object({ permission: z.string().max(16).optional() })).default({}),
  environ: z.record(z.string().max(256), z.string().max(32_768)).default({}),
  resources: z.record(z.string().max(64), NumberText).default({}),
  resource_opts: z.object({ shmem: NumberText.optional() }).default({}),
  scalingGroup: Text.optional(),
  scaling_group: Text.optional(),
  preopen_ports: z.array(z.number()).max(100).default([]),
  attach_network: Text.optional(),
})

/** Body of `POST /session`, of all versions: later ones write some names with underscores. */
export const LaunchInput = z.object({
  name: Text.optional(),
  clientSessionToken: Text.optional(),
  image: Text.optional(),
  lang: Text.optional(),
  type: Text.optional(),
  session_type: Text.optional(),
  startupCommand: z.string().max(16_384).optional(),
  startup_command: z.string().max(16_384).optional(),
  enqueueOnly: Flag.optional(),
  enqueue_only: Flag.optional(),
  maxWaitSeconds: z.number().min(0).max(86_400).optional(),
  max_wait_seconds: z.number().min(0).max(86_400).optional(),
  reuseIfExists: Flag.optional(),
  reuse: Flag.optional(),
  group: Text.optional(),
  group_name: Text.optional(),
  tag: Text.optional(),
  starts_at: z.string().max(64).optional(),
  bootstrap_script: z.string().max(65_536).optional(),
  owner_access_key: Text.optional(),
  clusterSize: z.number().int().min(1).max(100).optional(),
  cluster_size: z.number().int().min(1).max(100).optional(),
  clusterMode: Text.optional(),
  cluster_mode: Text.optional(),
  dependencies: z.array(Text).max(20).optional(),
  callback_url: z.string().max(2_000).optional(),
  priority: z.number().int().optional(),
  config: Config.prefault({}),
})
export type LaunchInput = z.output<typeof LaunchInput>

/** A name of an image as answers of the adapter write it, for the API: without the processor architecture and the stand-in of a registry. */
export const imageName = (image: string): string => image.replace(/@[\w-]+$/, '').replace(/^local\//, '')

/**
 * The request of Berth's API for a launch of a client. What Berth has no counterpart for is refused by its name, so that nobody believes it
 * has an effect.
 *
 * @throws AppError `bad_request`, `keypair_not_found`
 */
export async function toSessionSpec(api: ApiClient, input: LaunchInput): Promise<SessionSpec> {
  const { config } = input
  refuse('preopen_ports', config.preopen_ports.length > 0)
  refuse('bootstrap_script', (input.bootstrap_script ?? '').trim() !== '')
  refuse('callback_url', input.callback_url !== undefined)
  refuse('attach_network', config.attach_network !== undefined)
  const image = input.image ?? input.lang
  if (image === undefined) throw new AppError('bad_request', { why: 'image: name an image.' })
  const kind = readKind(input.type ?? input.session_type ?? 'interactive')
  const clusterSize = input.clusterSize ?? input.cluster_size ?? 1
  const isSpread = (input.clusterMode ?? input.cluster_mode) === 'multi-node' && clusterSize > 1
  const startupCommand = input.startupCommand ?? input.startup_command
  const group = input.group ?? input.group_name
  const key = input.owner_access_key
  const owner = key === undefined ? undefined : await ownerOf(api, key)
  const spec: z.input<typeof SessionSpec> = {
    image: imageName(image),
    kind,
    resources: readSlots(config.resources),
    environ: config.environ,
    ...defined({
      name: input.name ?? input.clientSessionToken,
      shmem: config.resource_opts.shmem,
      startupCommand: startupCommand === '' ? undefined : startupCommand,
      resourceGroup: config.scalingGroup ?? config.scaling_group,
      // `default` is what clients send unless somebody chooses; Berth then takes the only project, or the one of this name.
      group: group === 'default' ? undefined : group,
      startsAt: input.starts_at === undefined ? undefined : readTime(input.starts_at),
      tags: input.tag === undefined || input.tag === '' ? undefined : [input.tag],
      clusterSize: clusterSize > 1 ? clusterSize : undefined,
      clusterMode: isSpread ? ('multi-host' as const) : undefined,
      dependsOn: input.dependencies?.length ? input.dependencies : undefined,
      priority: berthPriority(input.priority),
      owner,
    }),
    folders: readMounts(config),
  }
  return spec as SessionSpec
}

function refuse(field: string, isThere: boolean): void {
  if (isThere) throw new AppError('bad_request', { why: `${field}: Berth has no counterpart. Launch without it.` })
}

function readKind(type: string): 'interactive' | 'batch' {
  const kind = type.toLowerCase()
  if (kind === 'interactive' || kind === 'batch') return kind
  throw new AppError('bad_request', {
    why: `type: Berth has no sessions of the type "${type.slice(0, 32)}", but interactive and batch.`,
  })
}

/** Clients that know priorities send 10 for the usual one, of 0 to 100; Berth has ten steps to either side. */
function berthPriority(priority: number | undefined): number | undefined {
  if (priority === undefined || priority === USUAL_PRIORITY) return undefined
  const steps = priority - USUAL_PRIORITY
  if (Math.abs(steps) <= 10) return steps
  throw new AppError('bad_request', { why: 'priority: must be 0 to 20. 10 is the usual one.' })
}

const USUAL_PRIORITY = 10

function readTime(text: string): string {
  const time = new Date(text)
  if (!Number.isNaN(time.getTime())) return time.toISOString()
  throw new AppError('bad_request', { why: 'starts_at: must be a time such as 2026-01-31T12:00:00Z.' })
}

/** The user whose keypair an administrator names; undefined for the own one. */
async function ownerOf(api: ApiClient, accessKey: string): Promise<string | undefined> {
  const [{ user }, { userId }] = await Promise.all([api.me(), findKeypair(api, accessKey)])
  return userId === user.id ? undefined : userId
}

function readMounts(config: LaunchInput['config']): FolderMountSpec[] {
  const paths = { ...config.mount_map, ...config.mount_id_map }
  return [...config.mounts, ...config.mount_ids].map(named => {
    // The command line also writes `name:path` and `name=path`.
    const [, folder = named, inline] = /^([^:=]+)[:=](.+)$/.exec(named) ?? []
    const path = paths[named] ?? paths[folder] ?? inline
    const readOnly = config.mount_options[folder]?.permission?.toLowerCase() === 'ro'
    return { folder: longId(folder), ...(path === undefined ? {} : { path }), ...(readOnly ? { readOnly } : {}) }
  })
}

/** An id as Berth writes it, of one without hyphens. */
const longId = (text: string): string =>
  /^[0-9a-f]{32}$/i.test(text) ? text.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5') : text
