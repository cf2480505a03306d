import { type SecretBox } from '../../../secrets/secret-box.ts'
import { type CompatRoute } from '../route.ts'
import { DOTFILE_ROUTES } from './dotfiles.ts'
import { EVENT_ROUTES } from './events.ts'
import { EXECUTE_ROUTES } from './execute.ts'
import { folderFileRoutes } from './folder-files.ts'
import { FOLDER_ROUTES } from './folders.ts'
import { GRAPHQL_ROUTES } from './graphql.ts'
import { HANDSHAKE_ROUTES } from './handshake.ts'
import { RESOURCE_ROUTES } from './resources.ts'
import { SESSION_FILE_ROUTES } from './session-files.ts'
import { SESSION_ROUTES } from './sessions.ts'
import { WEB_ROUTES } from './web-mode.ts'

/** All addresses of the original that Berth answers; `docs/admin/backend-ai-clients.md` lists them. */
export const compatRoutes = ({ box }: { readonly box: SecretBox }): readonly CompatRoute[] => [
  ...HANDSHAKE_ROUTES,
  ...WEB_ROUTES,
  ...SESSION_ROUTES,
  ...EXECUTE_ROUTES,
  ...SESSION_FILE_ROUTES,
  ...FOLDER_ROUTES,
  ...folderFileRoutes(box),
  ...DOTFILE_ROUTES,
  ...RESOURCE_ROUTES,
  ...EVENT_ROUTES,
  ...GRAPHQL_ROUTES,
]
