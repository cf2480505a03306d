import { z } from 'zod'
import { BootstrapScript, BootstrapScriptSpec, Dotfile, DotfileName, DotfileSpec } from '../storage/home-files.ts'
import { type RouteSpec } from './route-spec.ts'

const dotfiles = '/api/v1/me/dotfiles'
const script = '/api/v1/me/bootstrap-script'

/** Dotfiles and start-up script of the caller's own new sessions. */
export const HOME_FILE_ROUTES = {
  listDotfiles: {
    method: 'GET',
    path: dotfiles,
    access: 'user',
    summary: 'Your own dotfiles, by path, with their content.',
    reply: z.object({ items: z.array(Dotfile) }),
  },
  putDotfile: {
    method: 'PUT',
    path: dotfiles,
    access: 'user',
    summary: 'Make or replace one of your dotfiles. Sessions that start from now on get it.',
    body: DotfileSpec,
    reply: Dotfile,
  },
  deleteDotfile: {
    method: 'DELETE',
    path: dotfiles,
    access: 'user',
    summary: 'Remove one of your dotfiles. Running sessions keep it.',
    query: DotfileName,
    status: 204,
    reply: z.void(),
  },
  getBootstrapScript: {
    method: 'GET',
    path: script,
    access: 'user',
    summary: 'The script that runs when a session of yours starts.',
    reply: BootstrapScript,
  },
  setBootstrapScript: {
    method: 'PUT',
    path: script,
    access: 'user',
    summary: 'Set or remove the script that runs when a session of yours starts.',
    body: BootstrapScriptSpec,
    reply: BootstrapScript,
  },
} as const satisfies Record<string, RouteSpec>
