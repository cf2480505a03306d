import { type ServerResponse } from 'node:http'

/** Languages of the pages that the proxy makes itself: those of the console. */
export type PageLanguage = 'en' | 'ko'

/** The language in which a browser wants its pages, of those that we have: RFC 9110, section 12.5.4. English if it wants neither. */
export function pageLanguage(acceptLanguage: string | undefined): PageLanguage {
  const wanted = (acceptLanguage ?? '').split(',').map(entry => {
    const [range = '', ...parameters] = entry.trim().toLowerCase().split(';')
    const weight = parameters.map(text => /^\s*q=([0-9.]+)\s*$/.exec(text)?.[1]).find(text => text !== undefined)
    return { language: range.split('-', 1)[0], weight: weight === undefined ? 1 : Number(weight) }
  })
  const of = (language: PageLanguage) =>
    Math.max(0, ...wanted.filter(one => one.language === language).map(({ weight }) => weight || 0))
  return of('ko') > of('en') ? 'ko' : 'en'
}

/** The language for the answer of a request. */
export const languageOf = ({ req }: Pick<ServerResponse, 'req'>): PageLanguage =>
  pageLanguage(req.headers['accept-language'])
