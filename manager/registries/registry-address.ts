import { isIP } from 'node:net'
import { AppError, because, type Because, DOCKER_HUB, DOCKER_HUB_URL } from '#manager/contract'
import { isCredentialAddress } from '../outgoing/credential-addresses.ts'

/**
 * Checks and normalises the address of a registry. Rule of the Backend.AI guide: the name of a registry is the host of its address, because
 * engines find the registry by the host in an image's name. Docker Hub is the one exception.
 *
 * Threat model: a superadmin makes this process open connections to an address of their choice, with a password that they entered. They may
 * name internal hosts, where most registries are. Addresses at which clouds provide the machine's credentials are refused, here and after a
 * name was looked up (`outgoing/guarded-fetch.ts`). Plain http is allowed only to this machine, or if the superadmin confirms it
 * (allowHttp); certificates are always verified. Replies are parsed and compared with their digest, and are not shown; see
 * `client/limited-fetch.ts` for redirects.
 *
 * @returns scheme, host and port, without anything after them
 * @throws AppError `bad_request`
 */
export function registryAddress(asked: { name: string; url?: string | undefined; allowHttp: boolean }): string {
  const { name, url, allowHttp } = asked
  const text = url ?? (name === DOCKER_HUB ? DOCKER_HUB_URL : `https://${name}`)
  const parsed = URL.canParse(text) ? new URL(text) : undefined
  if (!parsed || (parsed.protocol !== 'https:' && parsed.protocol !== 'http:')) {
    throw refused(because('registry_address_scheme'))
  }
  if (parsed.username || parsed.password || parsed.search || parsed.hash || parsed.pathname !== '/') {
    throw refused(because('registry_address_form'))
  }
  // Take the host as written, because image names contain it in that form: URL would drop a default port.
  const host = /^[a-z]+:\/\/([^/?#]*)/i.exec(text)?.[1]?.toLowerCase()
  const expected = name === DOCKER_HUB ? new URL(DOCKER_HUB_URL).host : name
  if (host !== expected) throw refused(because('registry_name_is_host', { expected, host: host ?? '' }))
  if (isCredentialAddress(parsed.hostname)) throw refused(because('registry_link_local'))
  if (parsed.protocol === 'http:' && !isLoopback(parsed.hostname) && !allowHttp) {
    throw refused(because('registry_in_clear'))
  }
  return `${parsed.protocol}//${expected}`
}

export function isLoopback(hostname: string): boolean {
  const bare = hostname.replace(/^\[|\]$/g, '')
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'))
}

/**
 * The registry where Docker looks for a reference: the first part of the reference if it looks like a host, else Docker Hub.
 * @see https://github.com/distribution/reference (normalize.go)
 */
export function registryOf(reference: string): string {
  const [first = '', ...rest] = reference.split('/')
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost')
  return !isHost || first === 'index.docker.io' ? DOCKER_HUB : first
}

/** The reference as engines write it: images of Docker Hub have no host and no `library/`. */
export function referenceOf(registry: string, repository: string, tag: string): string {
  if (registry !== DOCKER_HUB) return `${registry}/${repository}:${tag}`
  return `${repository.replace(/^library\//, '')}:${tag}`
}

function refused(why: Because): AppError {
  return new AppError('bad_request', { ...why, fields: { url: why.why } })
}
