/** End users: whom an application serves behind one key (`user` of a request). A key may cap each of them. */

/** So many are told apart in one UTC day of one key; whoever comes later is counted with the rest, also against its caps. */
export const MOST_END_USERS_A_DAY = 10_000

/** Under this name all the rest are counted; nobody can be called so, because an empty `user` is none. */
export const REST_OF_END_USERS = ''
