import { createSHA256 } from 'hash-wasm'

/** SHA-256 of whole files, in a worker, so that the page does not stutter. One file after the other, in the order of the requests. */
export interface HashRequest {
  readonly id: number
  readonly file: File
}
export type HashReply = { readonly id: number } & ({ readonly hash: string } | { readonly failed: string })

const sha256 = createSHA256()
let turn: Promise<void> = Promise.resolve()

async function answer({ id, file }: HashRequest): Promise<void> {
  try {
    const hasher = (await sha256).init()
    const reader = file.stream().getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      hasher.update(value)
    }
    post({ id, hash: hasher.digest() })
  } catch (error) {
    post({ id, failed: error instanceof Error ? error.message : String(error) })
  }
}
const post = (reply: HashReply) => postMessage(reply)

addEventListener('message', ({ data }: MessageEvent<HashRequest>) => {
  turn = turn.then(() => answer(data))
})
