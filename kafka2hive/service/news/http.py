"""A receiver of news over HTTP: one CloudEvent a request; an answer of 2xx says that it was taken."""

from kafka2hive.config.keys import NewsReceiver
from kafka2hive.ledger.news import News
from kafka2hive.observe.post import HttpAddress, NoReply, Overloaded, Rejected, Untrusted, bearer
from kafka2hive.service.news.cloudevents import CONTENT_TYPE, json_of
from kafka2hive.service.news.outbox import NotTaken


class HttpReceiver:
    """Posts news to the receiver's address."""

    def __init__(self, options: NewsReceiver, url: str) -> None:
        self.name, self.since = options.name, options.since
        self.wants = options.wants
        headers = bearer(options.token) | dict(options.headers)
        self._address = HttpAddress(url, options.ca_file, "ca_file", headers)

    def tell(self, news: News) -> None:
        """Post one event. Raises NotTaken."""
        url = self._address.url
        try:
            self._address.post(json_of(news), CONTENT_TYPE)
        except Untrusted as error:
            remedy = "correct ca_file of the receiver in the map, or its server's certificate"
            raise NotTaken("news.tls", f"{url}: {error}", remedy) from error
        except Overloaded as error:
            raise NotTaken("news.later", f"{url} answers {error}", "look at the receiver's log") from error
        except NoReply as error:
            remedy = "bring the receiver back, or correct its url in the map"
            raise NotTaken("news.no_answer", f"{url} does not answer: {error}", remedy) from error
        except Rejected as error:
            remedy = "correct the receiver, or its url, token and headers in the map; or take the receiver out of the map"
            raise NotTaken("news.rejected", f"{url} answers {error}", remedy, of_table=True) from error

    def close(self) -> None:
        """Do nothing: each request has a connection of its own."""
