import { type EngineClient, engineMessage, isEngineUnreachable, isMissing } from '../docker/engine-client.ts'
import { AppError } from '#manager/contract'

const LABEL_TOOLBOX = 'berth.toolbox-volume'

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

/** Written last: a copy that was cut short by a crash has none and is made again. */
const FILL =
  'PATH=/opt/berth/applets; [ -e /volume/.complete ] || { cp -af /opt/berth/. /volume/ && sync && : > /volume/.complete; }'
const FILL_WITHIN_MS = 120_000

/**
 * Copies the toolbox image into a volume once per recipe. (Docker itself would fill an empty volume that is mounted over the
 * same path, but an engine that dies meanwhile leaves it half full, and Docker never looks again.)
 */
export function createToolbox({ engine, image, log }: ToolboxDeps): Toolbox {
  const verified = new Map<string, string>()
  let preparing: Promise<string> | undefined

  async function prepare(): Promise<string> {
    const { id, hash } = await findImage()
    const name = `berth-toolbox-${hash}`
    const found = await inspectVolume(name)
    if (found !== undefined && verified.get(name) === found) return name
    await fill(name, id)
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

  /** One container of a fixed name: one that a killed agent left behind is in the way, and is removed. */
  async function fill(volume: string, imageId: string): Promise<void> {
    await engine.calls.createVolume({ Name: volume, Labels: { [LABEL_TOOLBOX]: volume } })
    const name = `${volume}-fill`
    await removeByName(name)
    const container = await engine.calls.createContainer({
      name,
      Image: imageId,
      Entrypoint: [],
      Cmd: ['/opt/berth/bin/busybox', 'sh', '-c', FILL],
      Labels: { [LABEL_TOOLBOX]: volume },
      HostConfig: { NetworkMode: 'none', Mounts: [{ Type: 'volume', Source: volume, Target: '/volume' }] },
    })
    try {
      await container.start()
      const { StatusCode } = (await container.wait({ abortSignal: AbortSignal.timeout(FILL_WITHIN_MS) })) as {
        StatusCode: number
      }
      if (StatusCode !== 0)
        throw new AppError('toolbox_missing', { why: `The volume ${volume} could not be filled from ${image}.` })
    } finally {
      await removeByName(name)
    }
  }

  async function removeByName(name: string): Promise<void> {
    try {
      await engine.calls.getContainer(name).remove({ force: true })
    } catch (error) {
      if (!isMissing(error)) throw error
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
