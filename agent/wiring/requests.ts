import { type FromAgent, type RequestInput, type RequestReply } from '#agent/contract'
import { AppError, type Diagnosis, type PullProgress, type RecentLines } from '#manager/contract'
import { type Commands } from '../commands/commands.ts'
import { type Handlers } from '../control/dispatcher.ts'
import { type EngineClient } from '../docker/engine-client.ts'
import { buildImage } from '../images/build-image.ts'
import { type ImageCatalog } from '../images/catalog.ts'
import { pullImage } from '../images/pull.ts'
import { pushImage } from '../images/push.ts'
import { saveSession } from '../images/save-session.ts'
import { type ImageTaker } from '../images/take-image.ts'
import { type createUnusedImages } from '../images/unused-images.ts'
import { type KernelManager } from '../kernel/kernel-manager.ts'
import { type ProgramUpdates } from '../program/updates.ts'
import { type EnginePart } from './engine-part.ts'
import { type HostPart } from './host-part.ts'

export interface RequestDeps {
  readonly engine: EngineClient
  readonly enginePart: EnginePart
  readonly host: Pick<HostPart, 'devices' | 'faults' | 'health'>
  readonly kernels: KernelManager
  readonly commands: Commands
  readonly updates: Pick<ProgramUpdates, 'begin'>
  readonly leave: (wanted: RequestInput<'leave_host'>) => Promise<RequestReply<'leave_host'>>
  readonly images: ImageCatalog
  readonly taker: Pick<ImageTaker, 'take'>
  readonly unused: ReturnType<typeof createUnusedImages>
  readonly notify: (message: FromAgent) => void
  readonly doctor: () => Promise<Diagnosis>
  readonly recent: Pick<RecentLines, 'list'>
}

/** Passes each request of a manager to the folder that handles it. */
export function createRequests(deps: RequestDeps): Handlers {
  const { engine, enginePart, kernels, commands, updates, leave, images, unused, notify, recent } = deps
  const { devices, faults, health } = deps.host
  const tellImage = (pullId: string, progress: PullProgress) => notify({ type: 'image_pull', pullId, progress })
  let diagnosing: Promise<Diagnosis> | undefined
  return {
    async create_kernel({ spec, ...options }, signal) {
      // A repeated request is answered with the state of the first one, whatever has become of the host.
      const isNew = !kernels.reports().some(one => one.kernelId === spec.kernelId && one.attempt === spec.attempt)
      if (isNew) await health?.beforeStart()
      return kernels.create(spec, { ...options, signal }).catch(async (error: unknown) => {
        throw await devices.told(spec, await faults.told(error))
      })
    },
    destroy_kernel: ({ kernelId, graceMs, attempt, keepFilesMs }) =>
      kernels.destroy(kernelId, graceMs, attempt, keepFilesMs),
    async warn_kernel({ kernelId, at, isEnd = false }) {
      await kernels.warn(kernelId, at, { isEnd })
      return {}
    },
    async mount_folder({ kernelId, folder }) {
      await kernels.mountFolder(kernelId, folder)
      return {}
    },
    async unmount_folder({ kernelId, folder, force }) {
      await kernels.unmountFolder(kernelId, folder, force)
      return {}
    },
    start_command: input => commands.start(input),
    get_command: (input, signal) => commands.get(input, signal),
    read_command: input => new Promise(resolve => resolve(commands.read(input))),
    end_command: input => commands.end(input),
    list_commands: input => Promise.resolve(commands.list(input)),
    get_ssh: ({ kernelId }) => kernels.ssh(kernelId),
    async start_app({ kernelId, app, timeoutMs, options }) {
      const { inject } = await kernels.ensureApp(kernelId, app, { timeoutMs, options })
      return { inject }
    },
    async list_kernels() {
      await enginePart.check()
      if (!enginePart.state.reachable || !kernels.known) throw new AppError('engine_unreachable')
      return { kernels: kernels.reports() }
    },
    set_device_modes({ modes }) {
      devices.setModes(modes)
      return Promise.resolve({})
    },
    get_logs: ({ kernelId, tail, timestamps }, signal) => kernels.logs(kernelId, tail, { timestamps, signal }),
    read_kept_log: ({ kernelId, part }) => kernels.keptLog(kernelId, part),
    async pull_image({ reference, pullId, auth }, signal) {
      const onProgress = (progress: PullProgress) => (pullId === undefined ? undefined : tellImage(pullId, progress))
      const { id } = await pullImage(engine, reference, { signal, auth, onProgress })
      return { id }
    },
    async take_image({ offer, pullId }, signal) {
      const { id } = await deps.taker.take(offer, { signal, onProgress: progress => tellImage(pullId, progress) })
      await images.refresh()
      return { id }
    },
    async save_kernel({ kernelId, reference, title, madeBy, saveId }, signal) {
      const kernel = kernels.find(kernelId)
      if (!kernel) throw new AppError('kernel_not_found', { kernelId })
      const onProgress = (progress: PullProgress) => tellImage(saveId, progress)
      const { containerId } = kernel
      const saved = await saveSession(engine, { containerId, reference, title, madeBy }, { signal, onProgress })
      await images.refresh()
      return saved
    },
    async push_image({ pushId, ...image }, signal) {
      await pushImage(engine, image, { signal, onProgress: progress => tellImage(pushId, progress) })
      await images.refresh()
      return {}
    },
    async build_image({ buildId, ...recipe }, signal) {
      const onLog = (text: string) => notify({ type: 'build_log', buildId, text })
      const made = await buildImage(engine, recipe, { signal, onLog })
      await images.refresh()
      return made
    },
    list_unused_images: () => unused.list(),
    remove_images: input => unused.remove(input),
    async update_program(order, signal, from) {
      await updates.begin(order, from, signal)
      return {}
    },
    leave_host: wanted => leave(wanted),
    async diagnose() {
      diagnosing ??= deps.doctor().finally(() => (diagnosing = undefined))
      return { diagnosis: await diagnosing, log: recent.list() }
    },
  }
}
