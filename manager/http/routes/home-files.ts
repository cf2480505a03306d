import { type HomeFiles } from '../../users/home-files.ts'
import { type Handlers } from '../handlers.ts'

type HomeFileRoutes = 'listDotfiles' | 'putDotfile' | 'deleteDotfile' | 'getBootstrapScript' | 'setBootstrapScript'

export function createHomeFileRoutes(files: HomeFiles): Pick<Handlers, HomeFileRoutes> {
  return {
    listDotfiles: ({ caller }) => files.list(caller),
    putDotfile: ({ caller }, { body }) => files.put(caller, body),
    deleteDotfile: ({ caller }, { query }) => files.remove(caller, query.path),
    getBootstrapScript: ({ caller }) => files.script(caller),
    setBootstrapScript: ({ caller }, { body }) => files.setScript(caller, body.script),
  }
}
