import { z } from 'zod'

/** A `sort` of a list: the name of one of its orders, with a leading `-` for the reverse. */
export type Sort<Order extends string> = Order | `-${Order}`

/** Schema of the `sort` of a list that has these orders. */
export const sortBy = <const Order extends string>(orders: readonly Order[]) =>
  z.enum(orders.flatMap(order => [order, `-${order}`] as const))

export function readSort<Order extends string>(
  sort: Sort<Order>,
): { readonly order: Order; readonly descending: boolean } {
  const descending = sort.startsWith('-')
  return { order: (descending ? sort.slice(1) : sort) as Order, descending }
}
