import { LABEL_KERNEL_ID, LABEL_MANAGER } from '#agent/contract'
import { type EngineClient, isMissing, statusOf } from '../docker/engine-client.ts'

/**
 * Removes the volumes of containers that somebody else removed (`docker rm` without `-v`): those with our labels that no container uses and whose
 * kernel is not here. The engine refuses to remove a volume that is in use.
 */
export async function sweepVolumes(
  engine: EngineClient,
  managerId: string,
  { isLive, complain }: { isLive: (kernelId: string) => boolean; complain: (error: unknown) => void },
): Promise<void> {
  const { Volumes } = await engine.calls.listVolumes({
    filters: { label: [`${LABEL_MANAGER}=${managerId}`, LABEL_KERNEL_ID], dangling: ['true'] },
  })
  for (const { Name, Labels } of Volumes) {
    const kernelId = Labels[LABEL_KERNEL_ID]
    if (kernelId === undefined || isLive(kernelId)) continue
    await engine.calls
      .getVolume(Name)
      .remove()
      .catch((error: unknown) => {
        if (!isMissing(error) && statusOf(error) !== 409) complain(error)
      })
  }
}
