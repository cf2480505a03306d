import { type AgentId, AppError } from '#manager/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type EventPublisher } from '../events/bus.ts'
import { createImageRoutes } from '../http/routes/images.ts'
import { createRegistryRoutes } from '../http/routes/registries.ts'
import { type Log } from '../log.ts'
import { createRegistries, type Registries } from '../registries/registries.ts'
import { type SecretBox } from '../secrets/secret-box.ts'
import { type Store } from '../store/open-store.ts'
import { createImageAliases } from '../images/aliases.ts'
import { type Builds, createBuilds } from '../images/builds.ts'
import { createImageCleanUp } from '../images/clean-up.ts'
import { createImages } from '../images/images.ts'
import { createPulls, type Pulls } from '../images/pulls.ts'
import { createImageTransfers, type ImageTransfers, type JoinAgents } from '../images/transfers.ts'
import { createTasks, type Tasks } from '../tasks/tasks.ts'

/** Images, registries, and long tasks on them. Closing cancels these tasks. */
export interface ImagesPart extends AsyncDisposable {
  readonly handlers: ReturnType<typeof createImageRoutes> & ReturnType<typeof createRegistryRoutes>
  readonly registries: Registries
  readonly pulls: Pulls
  readonly transfers: ImageTransfers
  /** Sets how agents are joined; before that, no agent takes an image from another one. */
  joinAgentsBy(join: JoinAgents): void
  readonly builds: Builds
  readonly tasks: Tasks
}

export interface ImagesPartDeps {
  readonly store: Store
  readonly box: SecretBox
  readonly events: EventPublisher
  readonly agents: AgentRequests & { isReady(id: AgentId): boolean }
  readonly log: Log
}

export function createImagesPart({ store, box, events, agents, log }: ImagesPartDeps): ImagesPart {
  const tasks = createTasks({ store, events, log })
  const registries = createRegistries({ store, box, tasks, events })
  let join: JoinAgents = () => Promise.reject(new AppError('unavailable'))
  const transfers = createImageTransfers({ db: store.db, agents, join: (...given) => join(...given), log })
  const pulls = createPulls({ store, agents, registries, transfers, tasks })
  const builds = createBuilds({ store, agents, tasks })
  const images = createImages({ store, events })
  const aliases = createImageAliases({ store, events })
  const cleanUp = createImageCleanUp({ store, agents })
  return {
    handlers: {
      ...createImageRoutes({ images, aliases, pulls, builds, cleanUp }),
      ...createRegistryRoutes({ registries, tasks }),
    },
    registries,
    pulls,
    transfers,
    joinAgentsBy(given) {
      join = given
    },
    builds,
    tasks,
    [Symbol.asyncDispose]: () => tasks[Symbol.asyncDispose](),
  }
}
