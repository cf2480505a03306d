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
  // A file that is not there fails the upload, and must not fail the process as well.
  const unread = new Promise<never>((_, reject) => archive.once('error', reject))
  try {
    const told = await Promise.race([streams.loadImage(archive), unread])
    for await (const line of readLines(told)) {
      const { data } = Failed.safeParse(parseJson(line))
      if (data) throw new Error(data.error)
    }
  } finally {
    archive.destroy()
    unread.catch(() => undefined)
  }
}
