import { type EngineClient, engineMessage, isEngineUnreachable, isMissing } from '../docker/engine-client.ts'
import { AppError } from '#manager/contract'

export interface Toolbox {
  /**
   * Name of the volume to mount at /opt/berth, filled and verified. The first call after a start takes about a second.
   * @throws `toolbox_missing`, `engine_unreachable`
   */
  volume(): Promise<string>
}

export interface ToolboxDeps {
  readonly engine: EngineClient
  /** Image with the toolbox; its label `berth.toolbox` names the recipe. */
  readonly image: string
  readonly log: { info(fields: object, message: string): void }
}

const CHECKSUM = 'cd /opt/berth && find . -type f -exec md5sum {} + | sort | md5sum'
const SHELL = ['/opt/berth/bin/busybox', 'sh', '-c']

/**
 * Copies the toolbox image into a volume once per recipe. Docker fills an empty volume when a container is *created*; an
 * engine that dies during that leaves it half full, and Docker never looks again. So the content is compared with the
 * image's once per process before the volume is used, and a bad one that nobody uses is made anew.
 */
export function createToolbox({ engine, image, log }: ToolboxDeps): Toolbox {
  const verified = new Map<string, string>()
  let preparing: Promise<string> | undefined

  async function prepare(): Promise<string> {
    const { id, hash } = await findImage()
    const name = `berth-toolbox-${hash}`
    const found = await inspectVolume(name)
    if (found !== undefined && verified.get(name) === found) return name
    if (!(await isComplete(name, id))) {
      await engine.calls.getVolume(name).remove()
      if (!(await isComplete(name, id))) {
        throw new AppError('toolbox_missing', { why: `The volume ${name} could not be filled from ${image}.` })
      }
    }
    verified.set(name, (await inspectVolume(name)) ?? '')
    log.info({ volume: name }, 'toolbox is ready')
    return name
  }

  async function findImage(): Promise<{ id: string; hash: string }> {
    try {
      const { Id, Config } = await engine.calls.getImage(image).inspect()
      return { id: Id, hash: Config.Labels['berth.toolbox'] ?? Id.replace('sha256:', '').slice(0, 12) }
    } catch (error) {
      if (!isMissing(error)) throw error
      throw new AppError('toolbox_missing', {
        why: `The engine has no image ${image}. Run "npm start", which builds it, or load it with "docker load".`,
      })
    }
  }

  /** When it was made, or undefined. A volume removed and made again is another one. */
  async function inspectVolume(name: string): Promise<string | undefined> {
    try {
      const volume = await engine.calls.getVolume(name).inspect()
      return 'CreatedAt' in volume ? String(volume.CreatedAt) : name
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  /** Creates the volume if need be: that is what fills it. */
  async function isComplete(name: string, imageId: string): Promise<boolean> {
    const mount = { Type: 'volume' as const, Source: name, Target: '/opt/berth', ReadOnly: false }
    await engine.calls.createVolume({ Name: name, Labels: { 'berth.toolbox': name.slice('berth-toolbox-'.length) } })
    const [inImage, inVolume] = await Promise.all([checksum(imageId, []), checksum(imageId, [mount])])
    return inImage !== '' && inImage === inVolume
  }

  async function checksum(
    imageId: string,
    mounts: { Type: 'volume'; Source: string; Target: string; ReadOnly: boolean }[],
  ): Promise<string> {
    const container = await engine.calls.createContainer({
      Image: imageId,
      Entrypoint: [],
      Cmd: [...SHELL, `PATH=/opt/berth/applets; ${CHECKSUM}`],
      Labels: { 'berth.toolbox-check': '1' },
      // Tty: then the log is not multiplexed.
      Tty: true,
      HostConfig: { NetworkMode: 'none', Mounts: mounts, CapDrop: ['ALL'] },
    })
    try {
      await container.start()
      await container.wait()
      return (await container.logs({ stdout: true, stderr: true })).toString('utf8').trim()
    } finally {
      await container.remove({ force: true, v: false })
    }
  }

  return {
    volume() {
      preparing ??= prepare()
        .catch((error: unknown) => {
          if (error instanceof AppError) throw error
          throw new AppError(
            isEngineUnreachable(error) ? 'engine_unreachable' : 'toolbox_missing',
            { why: engineMessage(error) },
            { cause: error },
          )
        })
        .finally(() => {
          preparing = undefined
        })
      return preparing
    },
  }
}
