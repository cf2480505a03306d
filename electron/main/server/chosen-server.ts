import { type Endpoint, type EndpointChoice } from '#proxy/contract'
import { AppError } from '#manager/contract'
import { type Connection } from './connection.ts'
import { createConnector, type Connector } from './connector.ts'
import { ENDPOINT_RULE, isEndpointUrl, type SettingsFile } from '../settings/settings-file.ts'
import { parseSignInLink } from '../settings/sign-in-link.ts'
import { type Running } from '../windows/ask-before-quit.ts'

export interface ChosenServerDeps {
  readonly settings: Pick<SettingsFile, 'current' | 'update'>
  /** BERTH_ENDPOINT: an address or a sign-in link, which overrides the user's choice. */
  readonly fixedEndpoint: string | undefined
  /** Sign-in link of a Berth that was just started on this computer: used first; the user may choose another Berth later. */
  readonly signInLink: string | undefined
  readonly connect: (
    to: EndpointChoice,
    how: { readonly isFixed: boolean; readonly ticket: string | null },
  ) => Promise<Connection>
  readonly isStackStarting: () => boolean
  /** Called when the user chooses: questions that were refused or cancelled may come again. */
  readonly forgetRefusals: () => void
  /** Closes terminals, which belong to the previous connection. */
  readonly onReplaced: () => void
  /** Opens another app for this server beside this one. */
  readonly openServer: (url: string) => Promise<void>
  /** Shows the console; reloads it if the server has changed. */
  readonly show: (how: { readonly isNew: boolean }) => void
  readonly onFailure: (error: unknown) => void
}

/** The server that the user has chosen, or was given, and the connection to it. */
export interface ChosenServer {
  readonly connector: Connector
  readonly isFixed: boolean
  /** null before the first choice. */
  choice(): EndpointChoice | null
  endpoint(): Promise<Endpoint>
  /** @throws AppError `forbidden` if the environment decides; as opening a connection */
  setEndpoint(wanted: EndpointChoice): Promise<Endpoint>
  /** Call when another start has brought a sign-in link. Work at the present server goes on: another server opens in a second app. */
  signInAt(link: string): Promise<void>
}

/** @throws AppError `config_invalid` for a wrong `fixedEndpoint` or `signInLink` */
export function createChosenServer(deps: ChosenServerDeps): ChosenServer {
  const { settings } = deps
  const fixed = deps.fixedEndpoint === undefined ? undefined : checkedEndpoint(deps.fixedEndpoint)
  /** The link counts until the user chooses another Berth in this run. */
  let given = deps.signInLink === undefined ? undefined : checkedEndpoint(deps.signInLink)

  const choice = (): EndpointChoice | null => {
    const first = fixed ?? given
    return first ? { kind: 'remote', url: first.endpoint } : settings.current.endpoint
  }
  const ticketFor = (to: EndpointChoice) =>
    [fixed, given].find(one => to.kind === 'remote' && one?.endpoint === to.url)?.ticket ?? null
  const connect = (to: EndpointChoice) => deps.connect(to, { isFixed: fixed !== undefined, ticket: ticketFor(to) })
  const connector = createConnector(() => {
    const chosen = choice()
    return chosen ? connect(chosen) : Promise.reject(new AppError('unavailable', { why: 'No Berth was chosen yet.' }))
  }, deps.onFailure)
  // Starts the connection early: the page will request it, and until then a failure is only logged.
  if (choice()) connector.current().catch(() => undefined)

  return {
    connector,
    isFixed: fixed !== undefined,
    choice,

    async endpoint() {
      const known = await connector.settled()
      if (known) return known.endpoint
      const wanted = choice()
      if (wanted === null) return { kind: 'none', url: '' }
      const url = wanted.kind === 'remote' ? wanted.url : ''
      return { kind: fixed ? 'fixed' : wanted.kind, url }
    },

    async setEndpoint(wanted) {
      if (fixed) throw new AppError('forbidden', { why: 'BERTH_ENDPOINT decides.' })
      // This computer's Berth is starting already: wait for the result of that start.
      if (wanted.kind === 'embedded' && deps.isStackStarting()) return (await connector.current()).endpoint
      deps.forgetRefusals()
      const before = await connector.settled()
      if (before && wanted.kind === 'embedded' && before.endpoint.kind === 'embedded') return before.endpoint
      const next = await connect(wanted)
      // The kept sign-in is not sent to another user's program. A person who chooses the address again accepts that program, so forget the
      // sign-in.
      await next.account.headers().catch(() => next.account.signOut())
      connector.replace(next)
      deps.onReplaced()
      await before?.[Symbol.asyncDispose]()
      given = undefined
      const { servers } = settings.current
      const { kind, url } = next.endpoint
      const first = kind === 'remote' ? [url] : []
      await settings.update({
        endpoint: wanted,
        servers: [...first, ...servers.filter(other => other !== url)].slice(0, 50),
      })
      return next.endpoint
    },

    async signInAt(link) {
      const wanted = checkedEndpoint(link)
      const before = await connector.settled()
      const isHere = before?.endpoint.url === wanted.endpoint
      const running = await before?.running()
      if (isHere ? before.account.isSignedIn() : fixed !== undefined || isBusy(running)) {
        if (isHere) deps.show({ isNew: false })
        else await deps.openServer(link)
        return
      }
      given = wanted
      connector.replace(await connect({ kind: 'remote', url: wanted.endpoint }))
      await before?.[Symbol.asyncDispose]()
      deps.show({ isNew: true })
    },
  }
}

/** Whether changing the server would interrupt something. */
const isBusy = (running: Running | undefined) => running !== undefined && (running.tunnels > 0 || running.stack)

/** @throws AppError `config_invalid` for an address that the user could not choose either */
function checkedEndpoint(link: string): ReturnType<typeof parseSignInLink> {
  if (!isEndpointUrl(link)) throw new AppError('config_invalid', { why: `BERTH_ENDPOINT ${ENDPOINT_RULE}.` })
  return parseSignInLink(link)
}
