import { createReadStream } from 'node:fs'
import { z } from 'zod'
import { parseJson } from '#base/parse-json'
import { type EngineClient } from '../docker/engine-client.ts'
import { readLines } from '../docker/lines.ts'

const Failed = z.object({ error: z.string() })

/**
 * Loads images from an archive of `docker save` into the engine, with their tags.
 *
 * @param file path of the archive, a .tar that is not packed
 * @throws the system's error if the file cannot be read; Error with the engine's words
 */
export async function loadArchive({ streams }: Pick<EngineClient, 'streams'>, file: string): Promise<void> {
  const archive = createReadStream(file)
  const upload = new AbortController()
  let unread: Error | undefined
  // The engine would wait for the rest of the file, and the broken upload must not look like an engine that is away.
  archive.once('error', error => {
    unread = error
    upload.abort()
  })
  try {
    const told = await streams.loadImage(archive, { abortSignal: upload.signal })
    for await (const line of readLines(told)) {
      const { data } = Failed.safeParse(parseJson(line))
      if (data) throw new Error(data.error)
    }
  } catch (error) {
    throw unread ?? error
  } finally {
    archive.destroy()
  }
}
