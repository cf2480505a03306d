import { type Image, isWebApp } from '#manager/contract'
import { isBatch, type LaunchForm } from './launch-form.ts'
import { t } from '../../words/en/launch.ts'

/** An app that can be opened when the session runs. */
export interface AppChoice {
  readonly name: string
  readonly title: string
}

/** The name of the terminal, which every session has. */
export const TERMINAL = 'terminal'

/** Apps of the image that have a page, and the terminal. Other ports need a program on the user's computer. */
export function appsToOpen(image: Pick<Image, 'apps'> | undefined): AppChoice[] {
  const pages = (image?.apps ?? []).filter(app => isWebApp(app) && app.name !== TERMINAL)
  return [...pages.map(({ name, title }) => ({ name, title })), { name: TERMINAL, title: t('terminal') }]
}

/**
 * False for requests whose app nobody would wait for, or that the user cannot open: several sessions, batch sessions, sessions of other
 * users, and those that start later.
 */
export const canOpenAfter = (form: Pick<LaunchForm, 'count' | 'kind' | 'owner' | 'startsAt'>): boolean =>
  form.count === 1 && !isBatch(form) && form.owner.trim() === '' && form.startsAt === ''

/** Name of the app to open when the session runs; empty for none, and if the chosen image has no such app. */
export function appToOpen(
  form: Pick<LaunchForm, 'count' | 'kind' | 'owner' | 'startsAt' | 'opens'>,
  image: Pick<Image, 'apps'> | undefined,
): string {
  const isOffered = canOpenAfter(form) && appsToOpen(image).some(({ name }) => name === form.opens)
  return isOffered ? form.opens : ''
}
