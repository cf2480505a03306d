import { randomUUID } from 'node:crypto'
import { type EngineClient, engineMessage, fromEngine, isMissing } from '../docker/engine-client.ts'
import { AppError, because, type Because, causeIn } from '#manager/contract'
import { loadArchive } from './load-archive.ts'

export const LABEL_TOOLBOX = 'berth.toolbox-volume'
/** Name prefix of the containers that fill the volume. */
const FILLER = 'berth-fill-'

export interface Toolbox {
  /**
   * Name of the volume to mount at /opt/berth, filled and verified. The first call after a start takes about a second.
   * @throws `toolbox_missing`, `disk_full`, `engine_unreachable`
   */
  volume(): Promise<string>
  /** Why there is no toolbox and so no session can start, as text for admins; null unless the last call failed. */
  readonly problem: Because | null
  /** Checks whether a missing toolbox is available again. */
  check(): Promise<void>
}

export interface ToolboxDeps {
  readonly engine: EngineClient
  /** Image with the toolbox. */
  readonly image: string
  /** Archive of `docker save` with that image, loaded whenever the engine lacks it; undefined: somebody else brings the image. */
  readonly archive?: string | undefined
  readonly onChange: () => void
  readonly log: { info(fields: object, message: string): void }
}

/**
 * Shell script that copies the toolbox to a temporary place, and moves complete parts to their final place if they are not there yet. Even
 * if several containers run the script at once, or one is killed anywhere, the final place never has an incomplete part, and parts there
 * are never overwritten. The mark `.complete` comes last.
 */
const FILL = `
  PATH=/opt/berth/applets
  cd /volume || exit 1
  fill() {
    cp -a /opt/berth "$COPY" && sync || return 1
    for entry in "$COPY"/* "$COPY"/.[!.]*; do
      [ -e "$entry" ] || [ -L "$entry" ] || continue
      name="\${entry##*/}"
      mv -T "$entry" "$name" 2>/dev/null || [ -e "$name" ] || return 1
    done
    sync && : > .complete
  }
  [ -e .complete ] || fill
  [ -e .complete ] && rm -rf .copy-*
  [ -e .complete ]`
const FILL_WITHIN_MS = 120_000

/**
 * Whether the image is a toolbox made by Berth's recipe. Its programs run in every session, and a name alone proves nothing. No image of a
 * session has these labels. If the tag is a recipe's fingerprint, it must be that of this image.
 */
export function isToolbox(reference: string, labels: Readonly<Record<string, string>>): boolean {
  const recipe = labels['berth.recipe']
  if (recipe === undefined || labels['berth.title'] !== 'Toolbox') return false
  const tag = /:([0-9a-f]{12})$/.exec(reference)?.[1]
  return tag === undefined || tag === recipe
}

/**
 * Copies the toolbox image into a volume once per image. (Docker itself would fill an empty volume that is mounted over the
 * same path, but an engine that dies during the copy leaves it half full, and Docker never checks again.)
 */
export function createToolbox({ engine, image, archive, onChange, log }: ToolboxDeps): Toolbox {
  const verified = new Map<string, string>()
  let preparing: Promise<string> | undefined
  let problem: Because | null = null
  /** The volume of the last call, which is usually also that of the next one. */
  let latest: string | undefined

  async function prepare(): Promise<string> {
    const expected = latest
    const [id, seen] = await Promise.all([findImage(), expected === undefined ? undefined : inspectVolume(expected)])
    const name = `berth-toolbox-${id.replace('sha256:', '').slice(0, 12)}`
    latest = name
    const found = name === expected ? seen : await inspectVolume(name)
    if (found !== undefined && verified.get(name) === found) return name
    await fill(name, id)
    verified.set(name, (await inspectVolume(name)) ?? '')
    log.info({ volume: name }, 'toolbox is ready')
    return name
  }

  async function findImage(): Promise<string> {
    const found = await inspectImage()
    if (found !== undefined) return found
    let loaded: string | undefined
    if (archive !== undefined) {
      await loadArchive(engine, archive)
      log.info({ image, archive }, 'the archive of the toolbox was loaded')
      loaded = await inspectImage()
    }
    // An archive may have the image of another version.
    if (loaded === undefined) throw new AppError('toolbox_missing', because('toolbox_image_missing', { image }))
    return loaded
  }

  /** Id of the image; undefined if the engine lacks it. */
  async function inspectImage(): Promise<string | undefined> {
    const inspected = await engine.calls
      .getImage(image)
      .inspect()
      .catch((error: unknown) => {
        if (!isMissing(error)) throw error
      })
    if (inspected === undefined) return undefined
    const { Id, Config } = inspected
    // The types leave out that an image may have no labels, and old engines no configuration.
    const labels = (Config as { Labels?: Record<string, string> | null } | null)?.Labels ?? {}
    if (isToolbox(image, labels)) return Id
    throw new AppError('toolbox_missing', because('toolbox_not_ours', { image }))
  }

  /** Creation time of the volume; undefined if there is none. A volume that was removed and made again is another one. */
  async function inspectVolume(name: string): Promise<string | undefined> {
    try {
      const volume = await engine.calls.getVolume(name).inspect()
      return 'CreatedAt' in volume ? String(volume.CreatedAt) : name
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  /** Runs the filling container. If the agent ends first, the container finishes its work and the engine removes it. */
  async function fill(volume: string, imageId: string): Promise<void> {
    await removeNeverStarted()
    await engine.calls.createVolume({ Name: volume, Labels: { [LABEL_TOOLBOX]: volume } })
    const container = await engine.calls.createContainer({
      name: FILLER + randomUUID(),
      Image: imageId,
      Entrypoint: [],
      Cmd: ['/opt/berth/bin/busybox', 'sh', '-c', FILL],
      Env: [`COPY=.copy-${randomUUID()}`],
      Labels: { [LABEL_TOOLBOX]: volume },
      HostConfig: {
        NetworkMode: 'none',
        AutoRemove: true,
        Mounts: [{ Type: 'volume', Source: volume, Target: '/volume' }],
      },
    })
    // Wait before the start: a container that has ended is gone. The wait may take longer than the timeout of a call.
    const ended = engine.streams
      .getContainer(container.id)
      .wait({ condition: 'next-exit', abortSignal: AbortSignal.timeout(FILL_WITHIN_MS) })
    const started = container.start().catch(async (error: unknown) => {
      await remove(container.id)
      throw error
    })
    const [{ StatusCode }] = (await Promise.all([ended, started])) as [{ StatusCode: number }, unknown]
    if (StatusCode !== 0) throw new AppError('toolbox_missing', because('toolbox_volume_not_filled', { volume, image }))
  }

  /** Removes containers of agents that were killed between create and start: the engine removes only containers that have run. */
  async function removeNeverStarted(): Promise<void> {
    // Filter by name too: an image of a session could carry the same label.
    const filters = { name: [`^/?${FILLER}`], label: [LABEL_TOOLBOX], status: ['created'] }
    for (const { Id, Created } of await engine.calls.listContainers({ all: true, filters })) {
      if (Date.now() - Created * 1000 > FILL_WITHIN_MS) await remove(Id)
    }
  }

  async function remove(containerId: string): Promise<void> {
    await engine.calls
      .getContainer(containerId)
      .remove({ force: true })
      .catch((error: unknown) => {
        if (!isMissing(error))
          log.info({ container: containerId, error: engineMessage(error) }, 'it could not be removed')
      })
  }

  function note(found: Because | null): void {
    const isOther = found?.why !== problem?.why
    problem = found
    if (isOther) onChange()
  }

  async function prepareOrSay(): Promise<string> {
    try {
      const name = await prepare()
      note(null)
      return name
    } catch (error) {
      const said = error instanceof AppError ? error : toolboxFailure(error)
      // If the engine is away, or its disk is full, nothing is known about the toolbox.
      if (said.code !== 'toolbox_missing') throw said
      note(causeIn(said.detail) ?? null)
      throw new AppError('toolbox_missing', because('host_without_toolbox'), { cause: error })
    }
  }

  const volume = () =>
    (preparing ??= prepareOrSay().finally(() => {
      preparing = undefined
    }))

  return {
    volume,
    get problem() {
      return problem
    },
    async check() {
      if (problem !== null) await volume().catch(() => undefined)
    },
  }
}

function toolboxFailure(error: unknown): AppError {
  const plain = fromEngine(error, 'internal')
  return plain.code === 'internal' ? new AppError('toolbox_missing', plain.detail, { cause: error }) : plain
}
