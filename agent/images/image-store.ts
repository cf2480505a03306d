import { type TransferHello } from '#agent/contract'
import { type EngineClient } from '../docker/engine-client.ts'

/**
 * How the engine keeps images: in containerd's store, an image's id is the digest of its manifest, elsewhere that of its configuration.
 * @throws the engine's error
 */
export async function imageStoreOf(engine: EngineClient): Promise<TransferHello['store']> {
  const { DriverStatus: status } = (await engine.calls.info()) as {
    DriverStatus?: readonly (readonly string[])[] | null
  }
  return status?.some(line => line.some(text => text.startsWith('io.containerd.snapshotter'))) ? 'blobs' : 'layers'
}
