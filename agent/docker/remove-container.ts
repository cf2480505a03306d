import { type EngineClient, engineMessage, isMissing } from './engine-client.ts'

/** Removes a container, running or not, with its anonymous volumes. No-op if the container is not there. */
export async function removeContainer(engine: EngineClient, id: string): Promise<void> {
  try {
    await engine.calls.getContainer(id).remove({ force: true, v: true })
  } catch (error) {
    // Another client is removing the container already: it will be gone soon.
    if (isMissing(error) || engineMessage(error).includes('is already in progress')) return
    throw error
  }
}
