import { isStrongPassword, type Publishing, type PublishSpec } from '#manager/contract'

export interface PublishForm {
  app: string
  hours: number
  password: string
  addresses: string
  port: string
}

const HOURS = [1, 8, 24, 168, 720] as const

/** Lifetimes to choose from, including the longest that the administrators allow. */
export function hoursOffered({ maxHours }: Pick<Publishing, 'maxHours'>): number[] {
  const within = HOURS.filter(hours => hours < maxHours)
  return [...within, maxHours].slice(0, HOURS.length)
}

export const defaultHours = (publishing: Pick<Publishing, 'maxHours'>) => Math.min(8, publishing.maxHours)

/** Addresses as people write them: with spaces, commas or line breaks between. */
export const addressesOf = (text: string) => text.split(/[\s,;]+/).filter(part => part !== '')

export function isPortOffered(text: string, ports: Publishing['ports']): boolean {
  if (text.trim() === '') return true
  const port = Number(text)
  return ports !== null && Number.isInteger(port) && port >= ports.first && port <= ports.last
}

/** Whether the link has no password, or one that the manager accepts. */
export const isPasswordOffered = (password: string) => password === '' || isStrongPassword(password)

export function specOf({ hours, password, addresses, port }: PublishForm): PublishSpec {
  return {
    hours,
    ...(password === '' ? {} : { password }),
    addresses: addressesOf(addresses),
    ...(port.trim() === '' ? {} : { port: Number(port) }),
  }
}
