import { LABEL_KERNEL_ID, LABEL_MANAGER } from '#agent/contract'
import { TERMINALS } from '../docker/container-config.ts'
import { type EngineClient, isMissing, statusOf } from '../docker/engine-client.ts'

/** A volume as the engine lists it; labels and options are null if it has none. */
interface Volume {
  readonly Name: string
  readonly Labels: Readonly<Record<string, string>> | null
  readonly Options: Readonly<Record<string, string>> | null
}

/**
 * Removes the volumes of containers that someone else removed (`docker rm` without `-v`): volumes with our labels whose kernel is not here,
 * and terminals without a label from older versions. No container uses them, and the engine refuses to remove a volume that is in use.
 */
export async function sweepVolumes(
  engine: EngineClient,
  managerId: string,
  { isLive, complain }: { isLive: (kernelId: string) => boolean; complain: (error: unknown) => void },
): Promise<void> {
  const { Volumes } = await engine.calls.listVolumes({ filters: { dangling: ['true'] } })
  for (const volume of Volumes) {
    if (isLeftOver(volume, managerId, isLive)) await remove(engine, volume).catch(complain)
  }
}

/** Removes the volumes of one kernel as soon as its container is known to be gone. */
export async function removeVolumesOf(engine: EngineClient, managerId: string, kernelId: string): Promise<void> {
  const label = [`${LABEL_MANAGER}=${managerId}`, `${LABEL_KERNEL_ID}=${kernelId}`]
  const { Volumes } = await engine.calls.listVolumes({ filters: { label, dangling: ['true'] } })
  for (const volume of Volumes) await remove(engine, volume)
}

function isLeftOver({ Labels, Options }: Volume, managerId: string, isLive: (kernelId: string) => boolean): boolean {
  const kernelId = Labels?.[LABEL_KERNEL_ID]
  if (kernelId !== undefined) return Labels?.[LABEL_MANAGER] === managerId && !isLive(kernelId)
  // A devpts stores nothing, so it does not matter whose it was.
  return Object.entries(TERMINALS).every(([name, value]) => Options?.[name] === value)
}

async function remove(engine: EngineClient, { Name }: Volume): Promise<void> {
  try {
    await engine.calls.getVolume(Name).remove()
  } catch (error) {
    if (!isMissing(error) && statusOf(error) !== 409) throw error
  }
}
