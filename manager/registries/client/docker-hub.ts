import { z } from 'zod'
import { parseJson } from '#base/parse-json'
import { AppError, because } from '#manager/contract'
import { limitedFetch } from './limited-fetch.ts'

/** Docker Hub has no catalogue; the API of its website lists the public repositories of a name space. */
export const HUB_API = 'https://hub.docker.com'
const MAX_BYTES = 4 * 2 ** 20
const MAX_PAGES = 500

const Page = z.object({ next: z.string().nullish(), results: z.array(z.object({ name: z.string().max(255) })) })

/**
 * Lists the repositories of a name space as `name space/name`, a page at a time.
 * @throws AppError `registry_failed`, `registry_unreachable`
 */
export async function* listHubRepositories(
  namespace: string,
  { api = HUB_API, signal }: { api?: string; signal: AbortSignal },
): AsyncGenerator<readonly string[], void, undefined> {
  let next: URL | undefined = new URL(`/v2/repositories/${namespace}/?page_size=100`, api)
  for (let page = 0; next && page < MAX_PAGES; page++) {
    const reply = await limitedFetch(next, { headers: { accept: 'application/json' }, maxBytes: MAX_BYTES, signal })
    if (reply.status === 404) return
    const parsed = Page.safeParse(reply.status === 200 ? parseJson(reply.body.toString('utf8')) : undefined)
    if (!parsed.success) {
      throw new AppError('registry_failed', because('docker_hub_did_not_list', { namespace, status: reply.status }))
    }
    yield parsed.data.results.map(({ name }) => `${namespace}/${name}`)
    const link: string | null | undefined = parsed.data.next
    const url = link !== null && link !== undefined && URL.canParse(link) ? new URL(link) : undefined
    next = url?.origin === new URL(api).origin ? url : undefined
  }
}
