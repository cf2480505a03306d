import { type EngineClient, engineMessage, isMissing } from './engine-client.ts'

/** No-op if it is not there. Anonymous volumes of the image go with it. */
export async function removeContainer(engine: EngineClient, id: string): Promise<void> {
  try {
    await engine.calls.getContainer(id).remove({ force: true, v: true })
  } catch (error) {
    // Another client is removing the container already: it will be gone soon.
    if (isMissing(error) || engineMessage(error).includes('is already in progress')) return
    throw error
  }
}
