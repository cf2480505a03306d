import { readFile } from 'node:fs/promises'
import { AppError } from '#manager/contract'

/** A file that the person named, or standard input for `-`. @throws AppError `bad_request` for a file that cannot be read */
export async function readInputFile(file: string): Promise<Buffer> {
  if (file === '-') return await readAll(process.stdin)
  return await readFile(file).catch((error: unknown) => {
    throw new AppError('bad_request', { why: `${file} cannot be read.` }, { cause: error })
  })
}

async function readAll(input: AsyncIterable<unknown>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of input) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
