import { type Complete, defined } from '#base/defined'
import { durationText, parseDuration } from '#base/duration'
import {
  DEFAULT_RESOURCE_GROUP,
  formatAmount,
  MAX_CLUSTER_SIZE,
  MOST_ALLOWED_NAMES,
  MOST_COMMAND_BYTES,
  NETWORK_MODES,
  parseAmount,
  parseSlots,
  SESSION_NAME,
  SLOT_NAMES,
  utf8Length,
  type GpuChoice,
  type Image,
  type NetworkAccess,
  type ResourceSlots,
  type Session,
  type SessionDetails,
  type SessionId,
  type SessionKind,
  type SessionSpec,
  type SlotName,
  type SlurmSettings,
} from '#manager/contract'
import { namesIn, wrongName } from '../../ui/allowed-names.ts'
import { rangeFault } from '../../ui/amount-fault.ts'
import { environError, type EnvironmentRow } from './environment.ts'
import { choicesFault, choicesLike, toMountSpecs, type FolderChoice } from './folder-choice.ts'
import { slurmChoiceOf, slurmLike, slurmTimeFault, type SlurmValues } from './slurm-choice.ts'
import { startFault } from './start-time.ts'
import { t } from '../../words/en/launch.ts'

export const MIB = 2 ** 20
export const GIB = 2 ** 30
export const LOWEST_PRIORITY = -10
const MOST_DEPENDENCIES = 20
const MOST_SESSIONS = 50
/** Maximum of the fields while no agent is connected and the largest size is unknown. The request then waits. */
const UNKNOWN_LARGEST: ResourceSlots = { cpu: 64_000, mem: 256 * GIB }
export const NETWORK_CHOICES = ['usual', ...NETWORK_MODES] as const
export type NetworkChoice = (typeof NETWORK_CHOICES)[number]
const YEAR_SECONDS = 31_536_000
const MINUTE_SECONDS = 60

/** The data of the dialog. Amounts are in base units: cpu 1/1000 core, memory bytes, shares 1/100; NaN for text that cannot be parsed. */
export interface LaunchForm {
  image: string
  /** Project id; empty if there is no choice. */
  project: string
  resourceGroup: string
  name: string
  cpu: number
  mem: number
  shmem: number
  gpu: number
  /** The GPUs that the session accepts; null for any. Without a GPU it means nothing. */
  gpuChoice: GpuChoice | null
  count: number
  /** Kernels of each session. */
  clusterSize: number
  /** Whether its kernels may be on several hosts; without effect for a single kernel. */
  severalHosts: boolean
  environ: EnvironmentRow[]
  folders: FolderChoice[]
  /** Whether to mount the person's own dot-folders too. */
  automount: boolean
  kind: SessionKind
  startupCommand: string
  /** Whether to run the image's program instead of a startup command. */
  runImageCommand: boolean
  /** Durations as typed, such as `8h`; empty for no limit. */
  maxLifetime: string
  idleTimeout: string
  /** Time limit of the job, as typed, in a resource group that Slurm runs; empty for that of the group. */
  slurmTime: string
  /** Values that such a resource group offers. */
  slurmValues: SlurmValues
  priority: number
  /** The part of the outside that the session may reach; `usual`: what the resource policy and the domain give. */
  network: NetworkChoice
  /** Names of an allow list, as typed. */
  allowedNames: string
  /** Whether the session may be stopped for a session of higher priority, and continue later. */
  interruptible: boolean
  /** Sessions of the owner that must end successfully before this one starts. */
  dependsOn: SessionId[]
  /** Local time before which the session does not start, as `datetime-local` fields give it; empty for none. */
  startsAt: string
  /** E-mail address of the user for whom an admin launches; empty for oneself. */
  owner: string
  /** Name of the app that the page opens, or offers to open, when the session runs; empty for none. Not part of the request. */
  opens: string
}
export type LaunchField = keyof LaunchForm
export type LaunchErrors = Readonly<Partial<Record<LaunchField, string>>>

export type GpuSlot = 'cuda.device' | 'cuda.shares'

/** Range of each amount: from the image's minimum to the largest agent, or to the remainder of the limits. */
export interface LaunchLimits {
  readonly cpu: Range
  readonly mem: Range
  readonly shmem: Range
  /** Null if no agent has GPUs: the field is then not shown. */
  readonly gpu: (Range & { readonly slot: GpuSlot }) | null
  /** Settings of a resource group that Slurm runs. */
  readonly slurm?: SlurmSettings | undefined
}
interface Range {
  readonly min: number
  readonly max: number
  readonly step: number
}

/** False if no connected agent could run the session, so that the size of the largest one is unknown. */
export const isKnown = (largest: ResourceSlots) => (largest.cpu ?? 0) > 0

/** Per slot the smaller of the largest agent's amount and the remainder of the limits. A slot that is missing in `left` is not limited. */
export function atMost(connected: ResourceSlots, left: ResourceSlots): ResourceSlots {
  const largest = isKnown(connected) ? connected : UNKNOWN_LARGEST
  const names = SLOT_NAMES.filter(name => largest[name] !== undefined)
  return Object.fromEntries(
    names.map(name => [name, Math.min(largest[name] ?? 0, Math.max(0, left[name] ?? Infinity))]),
  )
}

/**
 * The ranges of the fields. @param left remainder of the limits: a field ends there, or at the image's minimum if that is larger; the
 * session then waits
 */
export function limitsOf(
  image: Image | undefined,
  largest: ResourceSlots,
  mem: number,
  left: ResourceSlots = {},
): LaunchLimits {
  const minimum = parseSlots(image?.minimum ?? {})
  // Shares are the finer unit: if agents offer them, people request them.
  const slot: GpuSlot = (largest['cuda.shares'] ?? 0) > 0 ? 'cuda.shares' : 'cuda.device'
  const most = atMost(largest, left)
  const range = (min: number, max: number, step: number): Range => ({ min, max: Math.max(min, max), step })
  return {
    cpu: range(minimum.cpu ?? 100, most.cpu ?? 0, (largest.cpu ?? 0) > 4000 ? 1000 : 500),
    mem: range(minimum.mem ?? 64 * MIB, most.mem ?? 0, (largest.mem ?? 0) > 32 * GIB ? GIB : 256 * MIB),
    shmem: range(0, mem || (most.mem ?? 0), mem > 8 * GIB ? 256 * MIB : 64 * MIB),
    gpu:
      (largest[slot] ?? 0) > 0
        ? { slot, ...range(minimum[slot] ?? 0, most[slot] ?? 0, slot === 'cuda.shares' ? 10 : 1) }
        : null,
  }
}

/** The amounts of one session: those of all its kernels. */
export function requestedSlots(form: LaunchForm, limits: LaunchLimits): ResourceSlots {
  const { cpu, mem, gpu, clusterSize: kernels } = form
  const gpus = limits.gpu && gpu !== 0 ? { [limits.gpu.slot]: gpu * kernels } : {}
  return { cpu: cpu * kernels, mem: mem * kernels, ...gpus }
}

/** Default values for this image if nothing is remembered: two cores and 4 GiB, or less on a small machine. */
export function defaultForm(image: Image | undefined, largest: ResourceSlots): LaunchForm {
  const minimum = parseSlots(image?.minimum ?? {})
  const within = (wanted: number, min = 0, max = 0) => Math.max(min, Math.min(wanted, max || wanted))
  const mem = within(4 * GIB, minimum.mem, largest.mem && Math.max(largest.mem / 2, minimum.mem ?? 0))
  return {
    image: image?.reference ?? '',
    project: '',
    resourceGroup: DEFAULT_RESOURCE_GROUP,
    name: '',
    // At most half of a small machine, so that a second session still fits.
    cpu: within(
      Math.max(1000, Math.min(2000, Math.floor((largest.cpu ?? 4000) / 2000) * 1000)),
      minimum.cpu,
      largest.cpu,
    ),
    mem: Math.floor(mem / (64 * MIB)) * 64 * MIB || mem,
    shmem: Math.min(Math.max(parseAmount('mem', image?.shmem ?? '') ?? 0, 64 * MIB), mem),
    gpu: 0,
    gpuChoice: null,
    count: 1,
    clusterSize: 1,
    severalHosts: false,
    environ: [],
    folders: [],
    automount: true,
    kind: 'interactive',
    startupCommand: '',
    runImageCommand: false,
    maxLifetime: '',
    idleTimeout: '',
    slurmTime: '',
    slurmValues: {},
    priority: 0,
    network: 'usual',
    allowedNames: '',
    interruptible: false,
    dependsOn: [],
    startsAt: '',
    owner: '',
    opens: '',
  }
}

/** Adapts the form to a new image or a smaller cluster; keeps the choices that they allow. */
export function fitForm(
  form: LaunchForm,
  image: Image | undefined,
  largest: ResourceSlots,
  left: ResourceSlots = {},
): LaunchForm {
  const limits = limitsOf(image, largest, form.mem, left)
  const clamp = (value: number, { min, max }: Range) => Math.min(Math.max(value, min), max)
  const mem = clamp(form.mem, limits.mem)
  const mostShmem = Number.isNaN(mem) ? Infinity : mem
  const shmem = Math.min(Math.max(form.shmem, parseAmount('mem', image?.shmem ?? '') ?? 0), mostShmem)
  return { ...form, cpu: clamp(form.cpu, limits.cpu), mem, shmem, gpu: limits.gpu ? clamp(form.gpu, limits.gpu) : 0 }
}

/** The form that launches a finished session again. It keeps the name, which is free after the session's end. */
export function formLike(session: SessionDetails): LaunchForm {
  const variables = session.launchedBy === null ? Object.entries(session.environ) : []
  return { ...settingsLike(session), environ: variables.map(([name, value]) => ({ name, value })) }
}

/**
 * The form without the variables, whose values no list of sessions has. Command and variables are left out if an administrator launched the
 * session for its owner: a session that the owner launches has the owner's dotfiles, which a foreign command must not see.
 */
export function settingsLike(session: Session): Omit<LaunchForm, 'environ'> {
  const requested = parseSlots(session.requested)
  const isForeign = session.launchedBy !== null
  return {
    image: session.image,
    project: session.group?.id ?? '',
    resourceGroup: session.resourceGroup,
    name: session.name,
    cpu: requested.cpu ?? 0,
    mem: requested.mem ?? 0,
    shmem: parseAmount('mem', session.shmem) ?? 0,
    gpu: requested['cuda.shares'] ?? requested['cuda.device'] ?? 0,
    gpuChoice: session.gpu,
    count: 1,
    clusterSize: session.clusterSize,
    severalHosts: session.clusterMode === 'multi-host',
    // If somebody else chose the folders, programs may run files from them.
    folders: isForeign ? [] : choicesLike(session),
    // The folders of a session that its owner launched already include the automatic ones.
    automount: isForeign,
    kind: session.kind,
    startupCommand: isForeign ? '' : (session.startupCommand ?? ''),
    runImageCommand: !isForeign && session.runImageCommand,
    maxLifetime: secondsText(session.maxLifetimeSeconds),
    idleTimeout: secondsText(session.idleTimeoutSeconds),
    ...slurmLike(session.slurm),
    priority: Math.min(session.priority, 0),
    // The whole network may have been the default, not a choice. So the copy chooses none: policies of today decide, and the summary says what they give.
    ...networkLike(session.network.mode === 'full' ? undefined : session.network),
    interruptible: session.interruptible,
    // The sessions on which it depended have ended.
    dependsOn: [],
    startsAt: '',
    owner: '',
    opens: '',
  }
}

/** The fields of the form for the network of a request. */
export const networkLike = (access: NetworkAccess | undefined) => ({
  network: access?.mode ?? ('usual' as const),
  allowedNames: access?.names?.join('\n') ?? '',
})

const secondsText = (seconds: number | null) => (seconds === null ? '' : durationText(seconds))

export interface LaunchContext {
  readonly limits: LaunchLimits
  readonly images: readonly Image[]
  /** Names of the user's live sessions. */
  readonly taken: ReadonlySet<string>
  /** The highest priority that the user may set. */
  readonly topPriority: number
  /** Ids of the folders that the user can mount; null until known. */
  readonly folders?: ReadonlySet<string> | null
}

/** Finds the mistakes in the form. Empty if the manager will accept it, as far as the page knows. */
export function validate(
  form: LaunchForm,
  { limits, images, taken, topPriority, folders = null }: LaunchContext,
): LaunchErrors {
  const environ = environError(form.environ)
  const errors: Partial<Record<LaunchField, string>> = {}
  if (!images.some(({ reference }) => reference === form.image)) errors.image = t('chooseEnvironment')
  const name = nameError(form.name, form.count, taken)
  if (name) errors.name = name
  const cpu = amountError('cpu', form.cpu, limits.cpu)
  if (cpu) errors.cpu = cpu
  const mem = amountError('mem', form.mem, limits.mem)
  if (mem) errors.mem = mem
  if (Number.isNaN(form.shmem)) errors.shmem = t('notAmount')
  if (form.shmem > form.mem) errors.shmem = t('shmemLarge')
  if (!isClusterSize(form.clusterSize)) errors.clusterSize = t('wholeNumber', { least: 1, most: MAX_CLUSTER_SIZE })
  const gpu = limits.gpu ? amountError(limits.gpu.slot, form.gpu, limits.gpu) : ''
  if (gpu) errors.gpu = gpu
  if (!isCount(form.count)) errors.count = t('wholeNumber', { least: 1, most: MOST_SESSIONS })
  if (environ) errors.environ = environ
  const folder = choicesFault(form.folders, folders)
  if (folder) errors.folders = folder
  if (utf8Length(form.startupCommand) > MOST_COMMAND_BYTES) errors.startupCommand = t('commandLong')
  if (isBatch(form) && !form.runImageCommand && form.startupCommand.trim() === '')
    errors.startupCommand = t('batchNeedsCommand')
  const maxLifetime = durationError(form.maxLifetime)
  if (maxLifetime) errors.maxLifetime = maxLifetime
  const idleTimeout = isBatch(form) ? '' : durationError(form.idleTimeout)
  if (idleTimeout) errors.idleTimeout = idleTimeout
  const slurmTime = limits.slurm ? durationError(form.slurmTime) || slurmTimeFault(form.slurmTime, limits.slurm) : ''
  if (slurmTime) errors.slurmTime = slurmTime
  if (!Number.isInteger(form.priority) || form.priority < LOWEST_PRIORITY || form.priority > topPriority) {
    errors.priority = t('wholeNumber', { least: LOWEST_PRIORITY, most: topPriority })
  }
  const names = form.network === 'allowlist' ? namesFault(form.allowedNames) : ''
  if (names) errors.allowedNames = names
  const start = startFault(form.startsAt)
  if (start) errors.startsAt = start
  if (form.dependsOn.length > MOST_DEPENDENCIES) errors.dependsOn = t('mostDependencies', { most: MOST_DEPENDENCIES })
  return errors
}

function namesFault(text: string): string {
  const wrong = wrongName(text)
  if (wrong === undefined) return namesIn(text).length === 0 ? t('namesMissing') : ''
  return wrong === null ? t('namesMany', { most: MOST_ALLOWED_NAMES }) : t('nameWrong', { name: wrong })
}

/** @returns empty for an amount within the range */
const amountError = (slot: SlotName, value: number, range: Range) =>
  Number.isNaN(value) ? t('notAmount') : rangeFault(slot, value, range)

export const isCount = (count: number) => Number.isInteger(count) && count >= 1 && count <= MOST_SESSIONS
const isClusterSize = (size: number) => Number.isInteger(size) && size >= 1 && size <= MAX_CLUSTER_SIZE
export const isBatch = (form: Pick<LaunchForm, 'kind'>) => form.kind === 'batch'

/** The mistake in a duration. An empty text is valid and means that the user sets no limit. */
export function durationError(text: string): string {
  if (text.trim() === '') return ''
  // `parseDuration` reads a bare number as seconds, which nobody means.
  if (/^\s*\d+\s*$/.test(text)) return t('addUnit', { number: text.trim() })
  const seconds = parseDuration(text)
  if (seconds === undefined) return t('timeFormat')
  if (seconds < MINUTE_SECONDS) return t('atLeastMinute')
  return seconds > YEAR_SECONDS ? t('atMostYear') : ''
}

/** The first mistake in the name. An empty name is valid: the manager makes one. */
export function nameError(name: string, count: number, taken: ReadonlySet<string>): string {
  if (name === '') return ''
  if (/\s/.test(name)) return t('noSpaces')
  const strange = /[^A-Za-z0-9._-]/u.exec(name)?.[0]
  if (strange) return t('notAllowed', { character: strange })
  if (/^[^A-Za-z0-9]/.test(name)) return t('beginLetter')
  if (name.length < 4) return t('moreCharacters', { count: 4 - name.length })
  if (/[^A-Za-z0-9]$/.test(name)) return t('endLetter')
  const many = isCount(count) && count > 1
  const longest = many ? `${name}-${count}` : name
  if (longest.length > 64) return t(many ? 'numberedLong' : 'most64')
  if (!SESSION_NAME.test(name)) return t('notName')
  const names = many ? Array.from({ length: count }, (_, index) => `${name}-${index + 1}`) : [name]
  const used = names.find(each => taken.has(each))
  return used ? t('nameTaken', { name: used }) : ''
}

/** Whether the containers may be placed on several hosts. Slurm then gives each a host of its own. */
export function isOverHosts({ severalHosts, clusterSize }: Pick<LaunchForm, 'severalHosts' | 'clusterSize'>): boolean {
  return severalHosts && clusterSize > 1
}

/** Without a choice, the resource policy and the domain decide. */
function toNetwork({ network: mode, allowedNames }: LaunchForm): NetworkAccess | undefined {
  if (mode === 'usual') return undefined
  return mode === 'allowlist' ? { mode, names: namesIn(allowedNames) } : { mode }
}

/** Converts the form to the request for the manager; only for a form without errors. */
export function toSpec(form: LaunchForm, limits: LaunchLimits): SessionSpec {
  const { gpu } = limits
  const command = form.runImageCommand ? '' : form.startupCommand.trim()
  const maxLifetimeSeconds = parseDuration(form.maxLifetime)
  const idleTimeoutSeconds = isBatch(form) ? undefined : parseDuration(form.idleTimeout)
  const spec: Complete<SessionSpec> = {
    name: form.name || undefined,
    image: form.image,
    resources: {
      cpu: formatAmount('cpu', form.cpu),
      mem: formatAmount('mem', form.mem),
      ...(gpu && form.gpu > 0 ? { [gpu.slot]: formatAmount(gpu.slot, form.gpu) } : {}),
    },
    gpu: gpu && form.gpu > 0 ? (form.gpuChoice ?? undefined) : undefined,
    slurm: limits.slurm && slurmChoiceOf(form, limits.slurm),
    shmem: String(form.shmem),
    environ: Object.fromEntries(form.environ.filter(({ name }) => name !== '').map(({ name, value }) => [name, value])),
    count: form.count,
    folders: form.folders.length === 0 ? undefined : toMountSpecs(form.folders),
    automount: form.automount ? undefined : false,
    resourceGroup: form.resourceGroup,
    group: form.project || undefined,
    startupCommand: command || undefined,
    runImageCommand: form.runImageCommand || undefined,
    kind: isBatch(form) ? form.kind : undefined,
    maxLifetimeSeconds,
    idleTimeoutSeconds,
    clusterSize: form.clusterSize === 1 ? undefined : form.clusterSize,
    clusterMode: isOverHosts(form) ? 'multi-host' : undefined,
    network: toNetwork(form),
    priority: form.priority || undefined,
    // The manager interrupts no session over several hosts, and refuses a request for both.
    interruptible: (form.interruptible && !isOverHosts(form)) || undefined,
    dependsOn: form.dependsOn.length === 0 ? undefined : form.dependsOn,
    startsAt: form.startsAt === '' ? undefined : new Date(form.startsAt).toISOString(),
    owner: form.owner.trim() || undefined,
    // The owner sets both in the list of sessions.
    tags: undefined,
    note: undefined,
  }
  return defined(spec)
}
