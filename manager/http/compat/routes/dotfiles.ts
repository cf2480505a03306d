import { z } from 'zod'
import { AppError, type Dotfile } from '#manager/contract'
import { readInput } from '../input.ts'
import { type CompatContext, type CompatRoute } from '../route.ts'

const PathInput = z.object({ path: z.string().max(255).optional() })
const DotfileInput = z.object({
  path: z.string().max(255),
  data: z.string().max(65_536),
  permission: z.string().max(8).optional(),
})

/** Dotfiles of the caller. */
export const DOTFILE_ROUTES: readonly CompatRoute[] = [
  { method: 'GET', path: '/user-config/dotfiles', handle: list },
  { method: 'POST', path: '/user-config/dotfiles', handle: put },
  { method: 'PATCH', path: '/user-config/dotfiles', handle: put },
  { method: 'DELETE', path: '/user-config/dotfiles', handle: remove },
  {
    method: 'GET',
    path: '/user-config/bootstrap-script',
    handle: async ({ api }) => (await api.getBootstrapScript()).script,
  },
]

const tell = ({ path, mode, content }: Dotfile) => ({ path, permission: mode, perm: mode, data: content })

async function list({ api, request }: CompatContext): Promise<unknown> {
  const { path } = await readInput(request, PathInput)
  const { items } = await api.listDotfiles()
  if (path === undefined) return items.map(tell)
  const found = items.find(dotfile => dotfile.path === path)
  if (found) return tell(found)
  throw new AppError('dotfile_not_found')
}

async function put({ api, request }: CompatContext): Promise<unknown> {
  const { path, data, permission } = await readInput(request, DotfileInput)
  // `0644` and `644` mean the same.
  const mode = permission?.slice(-3)
  await api.putDotfile({ body: { path, content: data, ...(mode ? { mode } : {}) } })
  return {}
}

async function remove({ api, request }: CompatContext): Promise<unknown> {
  const { path } = await readInput(request, PathInput.required())
  await api.deleteDotfile({ query: { path } })
  return { success: true }
}
