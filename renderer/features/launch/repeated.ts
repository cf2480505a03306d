import { durationText } from '#base/duration'
import { type Folder, parseAmount, parseSlots, type Session, type SessionSpec } from '#manager/contract'
import { defaultForm, type LaunchForm, networkLike, settingsLike } from './launch-form.ts'
import { slurmLike } from './slurm-choice.ts'

const MOST_RECENT = 10

/**
 * The form that sends a stored request again.
 * @param folders that the user can mount, by id
 */
export function formOf(spec: SessionSpec, folders: ReadonlyMap<string, Pick<Folder, 'name'>>): LaunchForm {
  const base = defaultForm(undefined, {})
  const slots = parseSlots(spec.resources)
  const shmem = spec.shmem === undefined ? undefined : parseAmount('mem', spec.shmem)
  return {
    ...base,
    image: spec.image,
    project: spec.group ?? '',
    resourceGroup: spec.resourceGroup,
    name: spec.name ?? '',
    cpu: slots.cpu ?? base.cpu,
    mem: slots.mem ?? base.mem,
    shmem: shmem ?? base.shmem,
    gpu: slots['cuda.shares'] ?? slots['cuda.device'] ?? 0,
    gpuChoice: spec.gpu ?? null,
    count: spec.count,
    clusterSize: spec.clusterSize ?? 1,
    severalHosts: spec.clusterMode === 'multi-host',
    environ: Object.entries(spec.environ).map(([name, value]) => ({ name, value })),
    folders: (spec.folders ?? []).map(({ folder, path = '', readOnly = false }) => ({
      folder: folder as Folder['id'],
      name: folders.get(folder)?.name ?? folder,
      path,
      readOnly,
    })),
    automount: spec.automount ?? true,
    kind: spec.kind ?? 'interactive',
    startupCommand: spec.startupCommand ?? '',
    runImageCommand: spec.runImageCommand ?? false,
    maxLifetime: spec.maxLifetimeSeconds === undefined ? '' : durationText(spec.maxLifetimeSeconds),
    idleTimeout: spec.idleTimeoutSeconds === undefined ? '' : durationText(spec.idleTimeoutSeconds),
    ...slurmLike(spec.slurm),
    priority: spec.priority ?? 0,
    ...networkLike(spec.network),
    interruptible: spec.interruptible ?? false,
  }
}

/**
 * The form with the choices of an earlier launch or a template. If its project or resource group cannot be chosen, that of the form is
 * kept; owner and app are kept too.
 *
 * @param taken names of live sessions
 */
export function refilled(
  { project, resourceGroup, owner, opens }: LaunchForm,
  wish: LaunchForm,
  offered: {
    readonly projects: readonly { readonly id: string }[]
    readonly resourceGroups: readonly { readonly name: string }[]
    readonly taken: ReadonlySet<string>
  },
): LaunchForm {
  return {
    ...wish,
    project: offered.projects.some(({ id }) => id === wish.project) ? wish.project : project,
    resourceGroup: offered.resourceGroups.some(({ name }) => name === wish.resourceGroup)
      ? wish.resourceGroup
      : resourceGroup,
    // A live session has this name: the copy gets another one.
    name: offered.taken.has(wish.name) ? '' : wish.name,
    owner,
    opens,
  }
}

/** The last launches that differ in more than their name and their variables' values, which lists do not have; newest first. */
export function recentLaunches(sessions: readonly Session[]): Session[] {
  const seen = new Set<string>()
  const recent: Session[] = []
  for (const session of sessions.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1))) {
    const { name: _, ...settings } = settingsLike(session)
    const key = JSON.stringify([settings, session.environNames, session.requested])
    if (seen.has(key)) continue
    seen.add(key)
    recent.push(session)
    if (recent.length === MOST_RECENT) break
  }
  return recent
}
